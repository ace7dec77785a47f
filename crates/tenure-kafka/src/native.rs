//! Calls of librdkafka for which `rdkafka` has no safe function. These calls read the leader epoch
//! of a record, a header by its name, and the id of a topic.
//!
//! Only this file has `unsafe` code. Each block says why its calls are sound.

#![expect(unsafe_code, reason = "librdkafka is C, and these functions have no safe ones")]

use std::ffi::CStr;
use std::ptr::{self, NonNull};
use std::time::Duration;

use rdkafka::bindings as c;
use rdkafka::client::{Client, ClientContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;

/// The leader epoch of the batch of a record; -1 if the broker did not name it.
pub fn leader_epoch(message: &BorrowedMessage<'_>) -> i32 {
    // SAFETY: the pointer is the message's own, valid as long as it is borrowed; it is only read.
    unsafe { c::rd_kafka_message_leader_epoch(message.ptr()) }
}

/// The value of the last header called `name`; `None` without such a header, or without a value.
///
/// `rdkafka`'s own function panics when the name of any header is not UTF-8, and any client may
/// have written the record.
pub fn header<'m>(message: &'m BorrowedMessage<'_>, name: &CStr) -> Option<&'m [u8]> {
    let mut headers = ptr::null_mut();
    // SAFETY: the message is valid as above, and keeps the headers that it gives.
    let error = unsafe { c::rd_kafka_message_headers(message.ptr(), &raw mut headers) };
    if error != NONE || headers.is_null() {
        return None;
    }
    let mut value = ptr::null();
    let mut length = 0;
    // SAFETY: the headers belong to the message, the name ends in zero.
    let error = unsafe {
        c::rd_kafka_header_get_last(headers, name.as_ptr(), &raw mut value, &raw mut length)
    };
    if error != NONE || value.is_null() {
        return None;
    }
    // SAFETY: `length` bytes from there belong to the headers, which belong to the message until it
    // is dropped; no code writes to them.
    Some(unsafe { std::slice::from_raw_parts(value.cast(), length) })
}

/// Rights of this user on a topic, as far as elections need them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    pub read: bool,
    pub write: bool,
}

/// The id of the topic called `name`: a topic that is made anew has another id.
/// Blocks until the cluster has answered, or `within` has passed.
pub fn topic_id<C: ClientContext>(
    client: &Client<C>,
    name: &CStr,
    within: Duration,
) -> Result<u128, KafkaError> {
    topic(client, name, within, false).map(|(id, _)| id)
}

/// The id of the topic called `name`, and this user's rights on it; `None` if brokers do not say.
/// Blocks as [`topic_id`] does.
pub fn topic_rights<C: ClientContext>(
    client: &Client<C>,
    name: &CStr,
    within: Duration,
) -> Result<(u128, Option<Rights>), KafkaError> {
    topic(client, name, within, true)
}

fn topic<C: ClientContext>(
    client: &Client<C>,
    name: &CStr,
    within: Duration,
    with_rights: bool,
) -> Result<(u128, Option<Rights>), KafkaError> {
    let client = client.native_ptr();
    let millis = i32::try_from(within.as_millis()).unwrap_or(i32::MAX).max(1);
    let event = describe(client, name, millis, with_rights).ok_or(failed(TIMED_OUT))?;
    // SAFETY: this function owns the event until the event is dropped, and all values that are read
    // below belong to the event.
    unsafe {
        let error = c::rd_kafka_event_error(event.pointer());
        if error != NONE {
            return Err(failed(error));
        }
        let result = c::rd_kafka_event_DescribeTopics_result(event.pointer());
        let mut count = 0;
        if result.is_null() {
            return Err(failed(UNKNOWN));
        }
        let topics = c::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        if topics.is_null() || count == 0 {
            return Err(failed(UNKNOWN));
        }
        let topic = *topics;
        // A null pointer stands for no error; the code of a null pointer is 0.
        let error = c::rd_kafka_error_code(c::rd_kafka_TopicDescription_error(topic));
        if error != NONE {
            return Err(failed(error));
        }
        let id = c::rd_kafka_TopicDescription_topic_id(topic);
        if id.is_null() {
            return Err(failed(UNKNOWN));
        }
        let halves = [
            c::rd_kafka_Uuid_most_significant_bits(id),
            c::rd_kafka_Uuid_least_significant_bits(id),
        ];
        let [most, least] = halves.map(|half| u128::from(half.cast_unsigned()));
        Ok((most << 64 | least, rights(topic)))
    }
}

/// The user's rights in a description; `None` if the query did not ask for rights, or brokers do
/// not say.
///
/// # Safety
///
/// The description must be valid.
unsafe fn rights(topic: *const c::rd_kafka_TopicDescription_t) -> Option<Rights> {
    use c::rd_kafka_AclOperation_t::{RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_ACL_OPERATION_WRITE};
    let mut count = 0;
    // SAFETY: the caller guarantees that the description is valid.
    let all = unsafe { c::rd_kafka_TopicDescription_authorized_operations(topic, &raw mut count) };
    if all.is_null() {
        return None;
    }
    // SAFETY: `count` operations belong to the description. The operations are read as numbers: a
    // broker may know operations for which the library has no name.
    let all = unsafe { std::slice::from_raw_parts(all.cast::<u32>(), count) };
    let may = |operation: c::rd_kafka_AclOperation_t| all.contains(&(operation as u32));
    let read = RD_KAFKA_ACL_OPERATION_READ;
    let write = RD_KAFKA_ACL_OPERATION_WRITE;
    Some(Rights { read: may(read), write: may(write) })
}

/// Asks about a topic, and waits for the answer.
fn describe(
    client: *mut c::rd_kafka_t,
    name: &CStr,
    millis: i32,
    with_rights: bool,
) -> Option<LibraryValue<c::rd_kafka_event_t>> {
    // SAFETY: the client outlives this block, because its owner is borrowed. Each pointer is
    // checked, and destroyed once, in the opposite order; the library copies the names.
    unsafe {
        let operation = c::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = LibraryValue::new(
            c::rd_kafka_AdminOptions_new(client, operation),
            c::rd_kafka_AdminOptions_destroy,
        )?;
        let mut message = [0; 256];
        // If this call fails, the default timeout holds, and the wait for the event still ends in
        // time.
        c::rd_kafka_AdminOptions_set_request_timeout(
            options.pointer(),
            millis,
            message.as_mut_ptr(),
            message.len(),
        );
        if with_rights {
            // A returned error must be given back; if this option fails, the rights stay unknown.
            let error =
                c::rd_kafka_AdminOptions_set_include_authorized_operations(options.pointer(), 1);
            drop(LibraryValue::new(error, c::rd_kafka_error_destroy));
        }
        let mut names = [name.as_ptr()];
        let topics = LibraryValue::new(
            c::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len()),
            c::rd_kafka_TopicCollection_destroy,
        )?;
        let queue = LibraryValue::new(c::rd_kafka_queue_new(client), c::rd_kafka_queue_destroy)?;
        c::rd_kafka_DescribeTopics(client, topics.pointer(), options.pointer(), queue.pointer());
        let event = c::rd_kafka_queue_poll(queue.pointer(), millis);
        LibraryValue::new(event, c::rd_kafka_event_destroy)
    }
}

const NONE: c::rd_kafka_resp_err_t = c::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
const UNKNOWN: c::rd_kafka_resp_err_t = c::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__FAIL;
const TIMED_OUT: c::rd_kafka_resp_err_t = c::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__TIMED_OUT;

fn failed(error: c::rd_kafka_resp_err_t) -> KafkaError {
    KafkaError::MetadataFetch(RDKafkaErrorCode::from(error))
}

/// A value that must be given back to the library.
struct LibraryValue<T> {
    pointer: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> LibraryValue<T> {
    /// # Safety
    ///
    /// `pointer` must be null, or point to a value that we own, that `destroy` frees, and that
    /// nothing else frees.
    unsafe fn new(pointer: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { pointer, destroy })
    }

    fn pointer(&self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T> Drop for LibraryValue<T> {
    fn drop(&mut self) {
        // SAFETY: the caller of `new` guarantees that the value may be given back, which happens
        // only here.
        unsafe { (self.destroy)(self.pointer()) }
    }
}
