//! What a core tells its driver, in the words of the handles.

use tenure_core::NodeName;
use tenure_core::nerio::{End, LeaderView, TransferFailure, View};

use crate::error::{Loss, TransferError};
use crate::view;

pub(super) fn view(view: View) -> view::View {
    match view {
        View::Leader(LeaderView { who, address, value, fence, until, leaving }) => {
            view::View::Leader(view::LeaderView {
                id: who.name.into(),
                value: value.into(),
                fence: Some(fence),
                until: Some(until),
                incarnation: Some(who.inc.0),
                address: Some(address),
                leaving,
            })
        }
        View::Vacant => view::View::Vacant,
        View::Unknown { since } => view::View::Unknown { since },
    }
}

pub(super) fn loss(end: End) -> Loss {
    match end {
        End::Expired => Loss::Expired,
        End::Resigned | End::Withdrawn => Loss::Resigned,
        End::Transferred => Loss::Transferred,
    }
}

/// `None` when it was told already, as a newer transfer came.
pub(super) fn transfer_error(to: NodeName, why: TransferFailure) -> Option<TransferError> {
    match why {
        TransferFailure::NotWaiting => Some(TransferError::NotWaiting { to }),
        TransferFailure::NotLeading => Some(TransferError::NotLeading),
        TransferFailure::Replaced => None,
    }
}
