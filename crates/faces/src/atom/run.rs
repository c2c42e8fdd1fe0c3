//! Runs the transaction of a request: on the reactor, or elsewhere where it takes long or loses too
//! often; and gives what came of it when all that it reveals is durable.

use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use repository::{
    Attempt, CommitNumber, Durability, Isolation, Ran, Repository, RunError, Timestamp, Transaction,
};
use std::sync::Arc;

/// Runs a body.
pub(crate) struct Runner<'a> {
    repository: &'a Repository,
    /// Whether it may block.
    is_patient: bool,
}

/// What a body gives, in the try that counted.
pub(crate) type Attempted<T> = Result<Attempt<T>, RunError<Problem>>;

impl Runner<'_> {
    /// Runs `body` as one transaction, in a few tries, or until it has committed.
    pub(crate) fn run<T>(
        &self,
        body: impl FnMut(&mut Transaction) -> Result<T, Problem>,
    ) -> Attempted<T> {
        match self.is_patient {
            true => self.repository.run(body).map(Attempt::Done),
            false => self.repository.try_run(body),
        }
    }
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub value: T,
    /// The commit, or what the view was of.
    pub commit: CommitNumber,
    /// The time of that view.
    pub time: Timestamp,
    /// What it promises, if it wrote.
    pub durability: Option<Durability>,
}

impl<T> Done<T> {
    /// The same, but for what it gives.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Done<U> {
        let Self { value, commit, time, durability } = self;
        Done { value: change(value), commit, time, durability }
    }
}

/// Does `work`, which reads what was sent and runs its transaction. `is_long`: reading alone would
/// hold up the reactor.
pub(crate) async fn run<T: Send + 'static>(
    reactor: &Reactor,
    is_long: bool,
    work: impl Fn(&Runner<'_>) -> Result<Attempted<T>, Problem> + Send + 'static,
) -> Result<Done<T>, Problem> {
    if !is_long {
        let runner = Runner { repository: &reactor.repository, is_patient: false };
        match work(&runner)? {
            Ok(Attempt::Done(ran)) => return finish(Ok(ran), reactor).await,
            Err(error) => return finish(Err(error), reactor).await,
            Ok(Attempt::Contended) => {}
        }
    }
    let repository = Arc::clone(&reactor.repository);
    let worked = reactor
        .off_thread(move || work(&Runner { repository: &repository, is_patient: true }))
        .await??;
    match worked {
        Ok(Attempt::Done(ran)) => finish(Ok(ran), reactor).await,
        Ok(Attempt::Contended) => {
            Err(Problem::new(Kind::Busy, "others write the same; nothing was changed: try again"))
        }
        Err(error) => finish(Err(error), reactor).await,
    }
}

/// Reads something at one view. What it reads is not checked again, since nothing is written.
pub(crate) async fn read<T>(
    reactor: &Reactor,
    mut body: impl FnMut(&mut Transaction) -> Result<T, Problem>,
) -> Result<Done<T>, Problem> {
    let ran = reactor.repository.try_run(|tx| {
        tx.set_isolation(Isolation::Snapshot);
        body(tx)
    });
    match ran {
        Ok(Attempt::Done(ran)) => finish(Ok(ran), reactor).await,
        Ok(Attempt::Contended) => Err(Problem::internal(&"a reader was in somebody's way")),
        Err(error) => finish(Err(error), reactor).await,
    }
}

async fn finish<T>(
    ran: Result<Ran<T>, RunError<Problem>>,
    reactor: &Reactor,
) -> Result<Done<T>, Problem> {
    let (problem, wait_for) = match ran {
        Ok(ran) => {
            reactor.gate.durable(ran.wait_for).await?;
            let durability = ran.committed.map(|_| ran.durability);
            let Ran { value, wait_for: commit, time, .. } = ran;
            return Ok(Done { value, commit, time, durability });
        }
        Err(RunError::Body { error, wait_for }) => (error, wait_for),
        Err(RunError::Begin(error)) => return Err(error.into()),
        Err(RunError::Commit(error)) => (error.into(), reactor.repository.stats().visible),
        Err(RunError::Duplicate { duplicate, wait_for }) => (duplicate.into(), wait_for),
    };
    reactor.gate.durable(wait_for).await?;
    Err(problem.at(wait_for))
}
