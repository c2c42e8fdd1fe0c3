//! `apps/bank` while its server is killed again and again: transfers among 10 accounts make and
//! lose no money, and every acknowledged transfer is there once.

use crate::harness::{Server, Site, root};
use crate::http::Client;
use crate::random::{Random, seed};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const KILLS: usize = 10;
const CLIENTS: u64 = 16;
const ACCOUNTS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// What each account has in the beginning, in cents.
const BEGIN: i64 = 10_000_000_000;

/// Tells transfers apart: each moves another amount, in cents.
static NEXT_AMOUNT: AtomicU64 = AtomicU64::new(1);

/// Somebody who transfers, and remembers what became of it.
#[derive(Clone)]
pub struct Clerk {
    random: Random,
    acknowledged: HashSet<u64>,
    refused: HashSet<u64>,
    in_doubt: HashSet<u64>,
}

impl Clerk {
    /// So many of them, for a seed.
    pub fn all(seed: u64) -> Vec<Self> {
        let clerk = |id| Self {
            random: Random::new(seed ^ id),
            acknowledged: HashSet::new(),
            refused: HashSet::new(),
            in_doubt: HashSet::new(),
        };
        (0..CLIENTS).map(clerk).collect()
    }

    /// Transfers until the server is gone, or it is to stop.
    pub fn work(&mut self, server: SocketAddr, stop: &AtomicBool) {
        let Ok(mut client) = Client::connect(server) else { return };
        while !stop.load(Ordering::Relaxed) && self.transfer(&mut client).is_ok() {}
    }

    /// How many transfers were acknowledged.
    pub fn done(&self) -> usize {
        self.acknowledged.len()
    }

    /// What it knew earlier, when what it has sent since may be there or not.
    pub fn in_doubt_since(&self, earlier: &Self) -> Self {
        let since = self.acknowledged.difference(&earlier.acknowledged).copied();
        let in_doubt = since.chain(self.in_doubt.iter().copied()).collect();
        Self { in_doubt, refused: self.refused.clone(), ..earlier.clone() }
    }
}

/// Opens the accounts.
pub fn open_accounts(server: &Server) {
    let mut client = server.connect();
    for name in ACCOUNTS {
        let form = format!("name={name}&amount={}.00", BEGIN / 100);
        let reply = client.request("POST", "/accounts", &[FORM], form.as_bytes());
        assert_eq!(reply.expect("a reply").status, 303);
    }
}

impl Clerk {
    fn transfer(&mut self, client: &mut Client) -> io::Result<()> {
        let amount = NEXT_AMOUNT.fetch_add(1, Ordering::Relaxed);
        let from = self.random.below(10) as usize;
        let to = (from + 1 + self.random.below(9) as usize) % 10;
        let (from, to) = (ACCOUNTS[from], ACCOUNTS[to]);
        let form = format!("from={from}&to={to}&amount={}.{:02}", amount / 100, amount % 100);
        self.in_doubt.insert(amount);
        let reply = client.request("POST", "/transfers", &[FORM], form.as_bytes())?;
        self.in_doubt.remove(&amount);
        match reply.status {
            303 => self.acknowledged.insert(amount),
            422 => self.refused.insert(amount),
            _ => panic!("{form}: {reply:?}"),
        };
        Ok(())
    }
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Every document of a collection.
fn all(client: &mut Client, collection: &str) -> Vec<serde_json::Value> {
    let mut documents = Vec::new();
    let mut path = format!("/db/{collection}?limit=1000");
    loop {
        let page = client.get(&path).expect("a reply");
        if page.status == 404 {
            // The first document makes the collection.
            return documents;
        }
        assert_eq!(page.status, 200, "{path}: {page:?}");
        let page = page.json();
        documents.extend(page["documents"].as_array().expect("documents").iter().cloned());
        let Some(next) = page["next"].as_str() else { return documents };
        path = format!("/db/{collection}?limit=1000&after={next}");
    }
}

/// The final state: what was acknowledged is there, once, and nothing else; no money was made.
pub fn check(server: &Server, clerks: &[Clerk]) {
    let mut client = server.connect();
    let mut balances: HashMap<String, i64> =
        ACCOUNTS.iter().map(|name| ((*name).to_owned(), BEGIN)).collect();
    let mut seen = HashSet::new();
    for transfer in all(&mut client, "transfers") {
        let value = &transfer["value"];
        let cents = value["cents"].as_i64().expect("cents");
        let account = |side: &str| value[side].as_str().expect("a name").to_owned();
        *balances.entry(account("from")).or_default() -= cents;
        *balances.entry(account("to")).or_default() += cents;
        assert!(seen.insert(cents.unsigned_abs()), "{cents} was transferred twice");
    }
    for clerk in clerks {
        let lost: Vec<_> = clerk.acknowledged.difference(&seen).collect();
        assert!(lost.is_empty(), "acknowledged, and not there: {lost:?}");
        let made: Vec<_> = clerk.refused.intersection(&seen).collect();
        assert!(made.is_empty(), "refused, and there: {made:?}");
    }
    let known: HashSet<u64> = clerks
        .iter()
        .flat_map(|clerk| clerk.acknowledged.union(&clerk.in_doubt).copied())
        .collect();
    let unknown: Vec<_> = seen.difference(&known).collect();
    assert!(unknown.is_empty(), "never sent, and there: {unknown:?}");
    let accounts = all(&mut client, "accounts");
    let cents = |account: &serde_json::Value| account["value"]["cents"].as_i64().expect("cents");
    for account in &accounts {
        let name = account["key"].as_str().expect("a key");
        assert_eq!(Some(&cents(account)), balances.get(name), "the balance of {name}");
    }
    assert_eq!(accounts.iter().map(cents).sum::<i64>(), 10 * BEGIN, "the sum of all money");
}

#[test]
fn no_transfer_is_lost_made_up_or_done_twice_while_the_server_is_killed() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen no_transfer_is_lost");
    let mut random = Random::new(seed);
    let site = Site::with_app(root().join("apps/bank"));
    let server = site.start();
    open_accounts(&server);
    server.kill();
    let mut clerks = Clerk::all(seed);
    let never = AtomicBool::new(false);
    for _ in 0..KILLS {
        let server = site.start();
        check(&server, &clerks);
        let address = server.address();
        let moment = Duration::from_millis(50 + random.below(300));
        std::thread::scope(|scope| {
            for clerk in &mut clerks {
                scope.spawn(|| clerk.work(address, &never));
            }
            std::thread::sleep(moment);
            server.kill();
        });
    }
    let server = site.start();
    check(&server, &clerks);
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
    let done: usize = clerks.iter().map(Clerk::done).sum();
    println!("{KILLS} kills, {done} transfers");
    assert!(done > KILLS, "there were hardly any transfers");
}
