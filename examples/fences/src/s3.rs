//! S3: the fence is metadata of the object, written on the condition that nobody wrote since it was
//! read.

use object_store::path::Path;
use object_store::{
    Attribute, AttributeValue, Attributes, Error, GetOptions, ObjectStore, PutMode, PutOptions,
    PutPayload, UpdateVersion,
};

use crate::Superseded;

const FENCE: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("fence"));
const ATTEMPTS: usize = 5;

/// The right to write an object, until somebody else writes it.
pub struct Turn<'a> {
    store: &'a dyn ObjectStore,
    path: &'a Path,
    options: PutOptions,
}

impl<'a> Turn<'a> {
    /// Reads the fence of the present object.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    pub async fn take(
        store: &'a dyn ObjectStore,
        path: &'a Path,
        fence: u64,
    ) -> Result<Result<Self, Superseded>, Error> {
        let (known, mode) = match store.get_opts(path, GetOptions::new().with_head(true)).await {
            Ok(present) => {
                let known = present.attributes.get(&FENCE).map(fence_of).transpose()?;
                let (e_tag, version) = (present.meta.e_tag, present.meta.version);
                (known.unwrap_or(0), PutMode::Update(UpdateVersion { e_tag, version }))
            }
            Err(Error::NotFound { .. }) => (0, PutMode::Create),
            Err(error) => return Err(error),
        };
        if known > fence {
            return Ok(Err(Superseded));
        }
        let attributes = Attributes::from_iter([(FENCE, fence.to_string())]);
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        Ok(Ok(Self { store, path, options }))
    }

    /// Writes, and returns whether the turn still held.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    pub async fn write(self, body: impl Into<PutPayload>) -> Result<bool, Error> {
        match self.store.put_opts(self.path, body.into(), self.options).await {
            Ok(_) => Ok(true),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Metadata of another program under this name is no fence: the object is left as it is.
fn fence_of(value: &AttributeValue) -> Result<u64, Error> {
    value.parse().map_err(|_| failed(format!("the metadata `fence` is {:?}", &**value)))
}

fn failed(why: String) -> Error {
    Error::Generic { store: "fences", source: why.into() }
}

/// Writes an object, unless a later leader has written it. A new leader calls this once before it
/// reads: from then on, each turn of an earlier leader is over.
///
/// # Errors
///
/// Errors of the store. After an error the object may be written.
pub async fn put_as_leader(
    store: &dyn ObjectStore,
    path: &Path,
    fence: u64,
    body: impl Into<PutPayload>,
) -> Result<Result<(), Superseded>, Error> {
    let body = body.into();
    for _ in 0..ATTEMPTS {
        let Ok(turn) = Turn::take(store, path, fence).await? else { return Ok(Err(Superseded)) };
        if turn.write(body.clone()).await? {
            return Ok(Ok(()));
        }
    }
    Err(failed(format!("{path} was written {ATTEMPTS} times meanwhile")))
}
