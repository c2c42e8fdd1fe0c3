//! What a request promises if it is acknowledged, on its way to the ledger of the audit.

use super::prepared::Request;
use super::step::Failure;
use super::user::User;
use crate::audit::{Pledge, Reply, element, pledge};
use crate::measure::ErrorClass;
use crate::plan::Keeps;
use tokio::time::Instant;

impl User {
    /// Of the request that is written in the first lane: a redirect will write over it.
    pub(super) fn pledges(&mut self, request: &Request) -> Vec<Pledge> {
        let plan = &self.desk.brief.plan;
        let written = &self.lanes[0].written;
        let promises = request.promises.iter().map(|number| &plan.audit.promises[*number].keeps);
        let mut pledges = Vec::with_capacity(request.promises.len());
        for keeps in promises {
            let Keeps::Listed { list, id } = keeps else {
                let (path, body) = (written.path(), written.body());
                pledges.extend(pledge(keeps, request.errand.server, path, body));
                continue;
            };
            let (mut rendered, mut fill) = (Vec::new(), self.mind.fill(plan));
            fill.render(id, &mut rendered);
            // Without one of its parts it is no id, and the request was none either.
            if fill.fault.is_none() {
                pledges.push(Pledge::Listed(element(*list, &rendered)));
            }
        }
        pledges
    }

    /// Notes what became of them.
    pub(super) fn note_pledges(
        &self,
        pledges: Vec<Pledge>,
        sent: Instant,
        failure: Option<&Failure>,
    ) {
        let start = self.desk.brief.timetable.start;
        let reply = match failure.map(Failure::class) {
            None => Reply::Acknowledged(Instant::now().saturating_duration_since(start)),
            // Never sent, or refused.
            Some(ErrorClass::Connect | ErrorClass::Status4xx) => return,
            Some(_) => Reply::Unknown,
        };
        let sent = sent.saturating_duration_since(start);
        for pledge in pledges {
            self.desk.brief.ledger.note(pledge, sent, reply);
        }
    }
}
