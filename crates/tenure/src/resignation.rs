//! Resignation from a candidacy or a leadership, at the latest when the handle is dropped.

use std::sync::Arc;

use tenure_core::ElectionName;

use crate::request::{CampaignId, DriverHandle, Request};
use crate::safety::SafetyClass;

pub(crate) struct Resignation<C: SafetyClass> {
    pub(crate) driver: Arc<dyn DriverHandle<C>>,
    pub(crate) election: ElectionName,
    pub(crate) campaign: CampaignId,
}

impl<C: SafetyClass> Resignation<C> {
    pub(crate) fn new(
        driver: Arc<dyn DriverHandle<C>>,
        election: ElectionName,
        campaign: CampaignId,
    ) -> Self {
        Self { driver, election, campaign }
    }

    pub(crate) fn request(&self) {
        let election = self.election.clone();
        let campaign = self.campaign;
        self.driver.request(Request::Resign { election, campaign });
    }
}

impl<C: SafetyClass> Drop for Resignation<C> {
    fn drop(&mut self) {
        self.request();
    }
}
