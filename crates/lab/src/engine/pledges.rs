//! What a request promises if it is acknowledged, on its way to the ledger of the audit.

use super::extract::field;
use super::prepared::Request;
use super::reference::resolve;
use super::step::Failure;
use super::user::User;
use crate::audit::{Change, Collection, Pledge, Reply, element, pledge};
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
            let (origin, path) = (request.errand.server, written.path());
            let which = self.mind.which(plan);
            let change = match keeps {
                Keeps::Posted => Some(Change::Posted {
                    collection: Collection { origin, path: path.to_vec() },
                    which,
                    member: None,
                }),
                Keeps::Edited => Some(Change::Edited { member: path.to_vec(), which }),
                Keeps::Deleted => Some(Change::Deleted { member: path.to_vec() }),
                _ => None,
            };
            pledges.extend(change.map(|change| Pledge::Changed(origin, change)));
            let Keeps::Listed { list, id } = keeps else {
                pledges.extend(pledge(keeps, origin, path, written.body()));
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

    /// The path that the last reply says a new member has.
    fn member(&self, origin: usize, collection: &[u8]) -> Option<Vec<u8>> {
        let location = field(&self.lanes[0].kept.fields, "location")?;
        let found = resolve(&self.desk.brief.plan.origins, (origin, collection), location).ok()?;
        (found.server == origin).then_some(found.path)
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
        for mut pledge in pledges {
            if let Pledge::Changed(origin, Change::Posted { collection, member, .. }) = &mut pledge
            {
                *member = self.member(*origin, &collection.path);
            }
            self.desk.brief.ledger.note(pledge, sent, reply);
        }
    }
}
