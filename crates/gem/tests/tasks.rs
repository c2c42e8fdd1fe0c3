//! Tasks and crons on a repository whose clock the tests move.

use crate::support::{
    PATIENCE, START_MS, Setup, Site, folder, load_error, request, site, site_with, start, text,
};
use gem::{Cancelled, Ledger, List, TaskFigures, Was};

fn figures(site: &Site, is_so: impl Fn(TaskFigures) -> bool) {
    site.wait("figures", |site| is_so(site.pool.task_figures()));
}

fn pass(site: &Site, milliseconds: u64) {
    site.pass(milliseconds);
    site.pool.look_at_clock();
}

fn ledger(site: &Site) -> Ledger {
    Ledger::new(site.repository.clone())
}

fn number(site: &Site, key: &str) -> Option<u64> {
    site.stored("log", key).map(|text| text.parse().unwrap())
}

const ADD: &str = "
    app.task('add', { attempts: 3, backoff: '10s' }, ({ db, payload }) => {
      db.log.add(payload.key, payload.by ?? 1);
      if (payload.fail) throw new Error('it fails');
    });
    app.post('/add/:key', ({ task, params, query }) => {
      const fail = query.fail === '1';
      return task('add', { key: params.key, fail }, { delay: query.delay ?? 0, key: query.key });
    });
";

#[test]
fn a_task_runs_after_the_commit_that_started_it_and_once() {
    let site = site(ADD);
    let id = text(&site.post("/add/a"));
    assert_eq!(id.len(), 26, "{id}");
    site.wait("it has run", |site| number(site, "a") == Some(1));
    figures(&site, |figures| figures.waiting == 0 && figures.running == 0 && figures.runs == 1);
    assert!(ledger(&site).list(List::Waiting).unwrap().tasks.is_empty());
}

#[test]
fn a_handler_that_fails_starts_none() {
    let site = site(&format!(
        "{ADD}
        app.post('/fail', ({{ task }}) => {{
          task('add', {{ key: 'a' }});
          throw new Error('no');
        }});"
    ));
    site.send(request("POST", "/fail")).unwrap_err();
    site.post("/add/b");
    site.wait("the other has run", |site| number(site, "b") == Some(1));
    assert_eq!(number(&site, "a"), None);
}

#[test]
fn a_task_waits_for_its_time() {
    let site = site(ADD);
    site.post("/add/late?delay=5m");
    site.post("/add/soon");
    site.wait("the first due", |site| number(site, "soon") == Some(1));
    assert_eq!(number(&site, "late"), None);
    pass(&site, 5 * 60_000 - 1);
    site.post("/add/later");
    site.wait("one more", |site| number(site, "later") == Some(1));
    assert_eq!(number(&site, "late"), None);
    pass(&site, 1);
    site.wait("the late one", |site| number(site, "late") == Some(1));
}

#[test]
fn a_key_makes_one_task_of_several() {
    let site = site(ADD);
    let first = text(&site.post("/add/a?delay=1m&key=k"));
    let second = text(&site.post("/add/a?delay=2m&key=k"));
    assert_eq!(first, second);
    let other = text(&site.post("/add/a?delay=1m&key=other"));
    assert_ne!(first, other);
    figures(&site, |figures| figures.waiting == 2);
    pass(&site, 60_000);
    site.wait("both have run", |site| number(site, "a") == Some(2));
    // It waits no more, so this is another one.
    let third = text(&site.post("/add/a?key=k"));
    assert_ne!(first, third);
    site.wait("it has run", |site| number(site, "a") == Some(3));
}

#[test]
fn a_task_that_fails_runs_again_later_and_is_dead_in_the_end() {
    let site = site(ADD);
    site.post("/add/a?fail=1");
    for failures in 1..=2 {
        figures(&site, |figures| figures.failures == failures && figures.running == 0);
        let waiting = ledger(&site).list(List::Waiting).unwrap().tasks;
        assert_eq!(u64::from(waiting[0].failures), failures);
        assert!(waiting[0].error.as_deref().unwrap().contains("it fails"), "{waiting:?}");
        let wait_ms =
            waiting[0].due_ms - site.document("_tasks", &waiting[0].id).unwrap().updated.0;
        let most = 10_000 << (failures - 1);
        assert!((most / 2..=most).contains(&wait_ms), "{wait_ms}");
        assert_eq!(number(&site, "a"), None, "a run that failed has no effect");
        pass(&site, most);
    }
    figures(&site, |figures| figures.dead == 1 && figures.waiting == 0);
    let dead = ledger(&site).list(List::Dead).unwrap().tasks;
    assert_eq!((dead.len(), dead[0].failures, dead[0].name.as_str()), (1, 3, "add"));
    assert!(dead[0].error.as_deref().unwrap().contains("app.js:"), "{dead:?}");
    assert!(ledger(&site).list(List::Waiting).unwrap().tasks.is_empty());
}

#[test]
fn dead_tasks_are_retried_cancelled_and_forgotten() {
    let site = site(
        "app.task('once', { attempts: 1 }, ({ db, payload }) => {
           if (db.switch.get('on') === undefined) throw new Error('off');
           db.log.add(payload, 1);
         });
         app.post('/once/:key', ({ task, params }) => task('once', params.key));",
    );
    for key in ["a", "b", "c"] {
        site.post(&format!("/once/{key}"));
        // Ids sort by time.
        site.pass(1);
    }
    figures(&site, |figures| figures.dead == 3);
    let ledger = ledger(&site);
    let dead = ledger.list(List::Dead).unwrap().tasks;
    let expected = Cancelled { name: "once".to_owned(), was: Was::Dead };
    assert_eq!(ledger.cancel(&dead[0].id).unwrap(), expected);
    assert!(ledger.cancel(&dead[0].id).is_err());
    site.store_json("switch", "on", "true");
    ledger.retry(&dead[1].id).unwrap();
    assert!(ledger.retry(&dead[1].id).is_err());
    site.pool.tasks_changed(1, -2);
    site.wait("the second has run", |site| number(site, "b") == Some(1));
    assert_eq!(ledger.retry_all().unwrap().tasks, 1);
    site.pool.tasks_changed(1, -1);
    site.wait("the third has run", |site| number(site, "c") == Some(1));
    assert_eq!(number(&site, "a"), None);
    figures(&site, |figures| figures.dead == 0 && figures.waiting == 0);
}

#[test]
fn a_dead_task_is_kept_for_its_time() {
    let site = site(
        "app.task('no', { attempts: 1 }, () => { throw new Error('no'); });
         app.post('/no', ({ task }) => task('no'));",
    );
    site.post("/no");
    figures(&site, |figures| figures.dead == 1);
    let keep = u64::try_from(gem::limits::TASK_DEAD_KEEP.as_millis()).unwrap();
    let list = || ledger(&site).list(List::Dead).unwrap().tasks.len();
    site.pass(keep - 1);
    assert_eq!(list(), 1);
    site.pass(1);
    assert_eq!(list(), 0);
}

#[test]
fn a_task_that_is_cancelled_does_not_run() {
    let site = site(ADD);
    let id = text(&site.post("/add/a?delay=1m"));
    assert_eq!(ledger(&site).cancel(&id).unwrap().was, Was::Waiting);
    site.pool.tasks_changed(-1, 0);
    pass(&site, 60_000);
    site.post("/add/b");
    site.wait("another has run", |site| number(site, "b") == Some(1));
    assert_eq!(number(&site, "a"), None);
}

#[test]
fn a_task_starts_tasks_and_what_it_changes_is_one_commit_with_its_end() {
    let site = site(
        "app.task('step', ({ db, task, payload, attempt, name, id, time, due }) => {
           db.log.put(`${payload}`, { attempt, name, id: id.length, late: time - due });
           if (payload > 1) task('step', payload - 1);
         });
         app.post('/go', ({ task }) => task('step', 5));",
    );
    site.post("/go");
    site.wait("five have run", |site| site.stored("log", "1").is_some());
    for step in 1..=5 {
        let expected = "{\"attempt\":1,\"name\":\"step\",\"id\":26,\"late\":0}";
        assert_eq!(site.stored("log", &step.to_string()).as_deref(), Some(expected));
    }
    figures(&site, |figures| figures.runs == 5 && figures.waiting == 0);
}

#[test]
fn a_runaway_task_is_stopped_and_others_run() {
    let setup = Setup { settings: "[limits]\ncpu_ms = 50\n", ..Setup::default() };
    let site = site_with(
        &format!(
            "{ADD} app.task('loop', {{ attempts: 2 }}, () => {{ for (;;); }});
         app.post('/loop', ({{ task }}) => task('loop'));"
        ),
        setup,
    );
    site.post("/loop");
    site.post("/add/a");
    site.wait("another has run", |site| number(site, "a") == Some(1));
    figures(&site, |figures| figures.failures == 1);
    pass(&site, 3_600_000);
    figures(&site, |figures| figures.dead == 1);
    let dead = ledger(&site).list(List::Dead).unwrap().tasks;
    assert!(dead[0].error.as_deref().unwrap().contains("50 ms of CPU time"), "{dead:?}");
}

#[test]
fn one_that_expires_before_it_can_run_is_dead() {
    let site = site(
        "app.task('old', { expires: '1h' }, ({ db }) => { db.log.put('ran', 1); });
         app.post('/old', ({ task }) => task('old', null, { delay: '1m' }));
         app.post('/new', ({ task }) => task('old', null, { delay: '1m', expires: '3h' }));",
    );
    site.post("/old");
    pass(&site, 60_000 + 3_600_001);
    figures(&site, |figures| figures.dead == 1 && figures.waiting == 0);
    let dead = ledger(&site).list(List::Dead).unwrap().tasks;
    assert!(dead[0].error.as_deref().unwrap().contains("expired"), "{dead:?}");
    assert_eq!(number(&site, "ran"), None);
    site.post("/new");
    pass(&site, 60_000 + 3_600_001);
    site.wait("its own time counts", |site| number(site, "ran") == Some(1));
}

#[test]
fn names_that_are_gone_wait_until_they_are_back() {
    let app = |tasks: &str| {
        format!(
            "import {{ App }} from 'sarsen'; const app = new App(); {tasks}
             app.get('/', () => 'up'); export default app;"
        )
    };
    let with = app(ADD);
    let folder_of = |text: &str| folder(&[("app.js", text)]);
    let site = start(folder_of(&with), Setup::default());
    let id = text(&site.post("/add/a?delay=1m"));
    let without = folder_of(&app(""));
    site.pool.reload(gem::App::load(without.path()).unwrap()).unwrap();
    pass(&site, 120_000);
    assert_eq!(site.text("/"), "up");
    assert_eq!(ledger(&site).list(List::Waiting).unwrap().tasks[0].id, id);
    assert_eq!(number(&site, "a"), None);
    let back = folder_of(&with);
    site.pool.reload(gem::App::load(back.path()).unwrap()).unwrap();
    site.wait("it is back and has run", |site| number(site, "a") == Some(1));
}

const CRON: &str = "app.cron('30 3 * * *', 'nightly', ({ db, time, due }) => {
      db.log.add('nights', 1);
      db.log.put('due', new Date(due).toISOString());
      if (db.switch.get('fail') !== undefined) throw new Error('not tonight');
    });";

#[test]
fn a_cron_runs_at_its_times() {
    let site = site(CRON);
    let due = || ledger(&site).list(List::Waiting).unwrap().tasks.first().map(|task| task.due_ms);
    site.wait("it waits", |_| due().is_some());
    // START_MS is 2023-11-14T22:13:20Z.
    let first = START_MS + (5 * 3_600 + 16 * 60 + 40) * 1_000;
    assert_eq!(due(), Some(first));
    pass(&site, first - START_MS - 1);
    assert_eq!(number(&site, "nights"), None);
    pass(&site, 1);
    site.wait("the first night", |site| number(site, "nights") == Some(1));
    assert_eq!(site.stored("log", "due").unwrap(), "\"2023-11-15T03:30:00.000Z\"");
    assert_eq!(due(), Some(first + 86_400_000));
    // Three nights are missed: one run catches up.
    pass(&site, 3 * 86_400_000 + 1_000);
    site.wait("the second run", |site| number(site, "nights") == Some(2));
    assert_eq!(due(), Some(first + 4 * 86_400_000));
    assert_eq!(site.stored("log", "due").unwrap(), "\"2023-11-16T03:30:00.000Z\"");
    figures(&site, |figures| figures.waiting == 0 && figures.runs == 2);
}

#[test]
fn a_cron_that_fails_for_good_comes_again_at_its_next_time() {
    let site = site(&CRON.replace("'nightly',", "'nightly', { attempts: 2, backoff: '1s' },"));
    site.store_json("switch", "fail", "1");
    site.wait("it waits", |site| !ledger(site).list(List::Waiting).unwrap().tasks.is_empty());
    pass(&site, 86_400_000);
    figures(&site, |figures| figures.failures == 1 && figures.running == 0);
    pass(&site, 1_000);
    figures(&site, |figures| figures.dead == 1);
    let dead = ledger(&site).list(List::Dead).unwrap().tasks;
    assert!(dead[0].id.starts_with("nightly-17"), "{dead:?}");
    let transaction = |site: &Site| {
        let mut transaction = site.repository.begin().unwrap();
        let name = repository::CollectionName::new("switch").unwrap();
        transaction.delete(&name, &repository::Key::new("fail").unwrap()).unwrap();
        transaction.commit().unwrap();
    };
    transaction(&site);
    pass(&site, 86_400_000);
    site.wait("the next night", |site| number(site, "nights") == Some(1));
}

#[test]
fn requests_are_not_starved_by_a_flood_of_tasks() {
    let work = "let x = 0; for (let i = 0; i < 200_000; i += 1) x += i;";
    let site = site(&format!(
        "app.task('work', ({{ db }}) => {{ {work} db.log.add('tasks', 1); }});
         app.post('/flood', ({{ task }}) => {{
           for (let i = 0; i < 200; i += 1) task('work', i);
         }});
         app.get('/work', ({{ db }}) => {{ {work} return `${{db.log.peek('tasks') ?? 0}}`; }});"
    ));
    site.post("/flood");
    site.wait("they run", |site| number(site, "tasks").is_some());
    let (sender, outcomes) = std::sync::mpsc::channel();
    for _ in 0..60 {
        let sender = sender.clone();
        let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
        assert!(site.pool.submit(request("GET", "/work"), respond).is_ok());
    }
    let seen: Vec<u64> = (0..60)
        .map(|_| text(&outcomes.recv_timeout(PATIENCE).unwrap().unwrap()).parse().unwrap())
        .collect();
    let (first, last) = (seen[0], seen[59]);
    // A quarter of the time is one task for three requests that take as long; a pause of the
    // machine may fall on any of them.
    assert!(last - first <= 40, "{} tasks ran meanwhile: {seen:?}", last - first);
    assert!(last > first, "tasks were starved: {seen:?}");
    site.wait("all have run", |site| number(site, "tasks") == Some(200));
}

#[test]
fn many_tasks_run_each_once_by_several_gems() {
    let setup = Setup { workers: 4, ..Setup::default() };
    let site = site_with(
        "app.task('one', ({ db, payload }) => {
           db.log.add(`n${payload}`, 1);
           db.log.add('all', 1);
         });
         app.post('/many', ({ task, query }) => {
           for (let i = 0; i < 500; i += 1) task('one', Number(query.from) + i);
         });",
        setup,
    );
    for from in [0, 500, 1_000] {
        site.post(&format!("/many?from={from}"));
    }
    site.wait("all have run", |site| number(site, "all") == Some(1_500));
    for n in [0, 1, 499, 500, 999, 1_499] {
        assert_eq!(number(&site, &format!("n{n}")), Some(1));
    }
    figures(&site, |figures| figures.waiting == 0 && figures.runs == 1_500 && figures.lag_ms == 0);
}

#[test]
fn mistakes_are_told() {
    let site = site(&format!(
        "{ADD} {CRON}
         app.get('/unknown', ({{ task }}) => task('ad'));
         app.get('/cron', ({{ task }}) => task('nightly'));
         app.get('/option', ({{ task }}) => task('add', 1, {{ dealy: 1 }}));
         app.get('/delay', ({{ task }}) => task('add', 1, {{ delay: '5 minutes' }}));
         app.get('/far', ({{ task }}) => task('add', 1, {{ delay: '500d' }}));
         app.get('/payload', ({{ task }}) => task('add', {{ a: [() => 1] }}));
         app.get('/large', ({{ task }}) => task('add', 'x'.repeat(70_000)));
         app.get('/key', ({{ task }}) => task('add', 1, {{ key: '' }}));
         let kept; app.get('/keep', ({{ task }}) => {{ kept = task; }});
         app.get('/kept', () => kept('add', 1));"
    ));
    for (path, part) in [
        ("/unknown", "no task of that name; it has \"add\", \"nightly\""),
        ("/cron", "it is a cron"),
        ("/option", "no option \"dealy\"; it can be delay, key, expires"),
        ("/delay", "delay: expected milliseconds above 0"),
        ("/far", "at most 366d"),
        ("/payload", "the value at \"/a/0\" is a function"),
        ("/large", "70002 bytes"),
        ("/key", "a key has 1 to 256 bytes"),
    ] {
        let message = site.failure(path);
        assert!(message.contains(part), "{path}: {message}");
    }
    site.get("/keep");
    assert!(site.failure("/kept").contains("the request is over"));
}

#[test]
fn definitions_are_checked_when_the_application_loads() {
    for (definition, part) in [
        ("app.task('a b', () => {})", "expected a name of letters"),
        ("app.task('a')", "expected a function"),
        ("app.task('a', { tries: 1 }, () => {})", "no option \"tries\""),
        ("app.task('a', { attempts: 0 }, () => {})", "attempts is a whole number from 1 to 100"),
        ("app.task('a', { attempts: 1.5 }, () => {})", "attempts is a whole number"),
        ("app.task('a', { timeout: '1h' }, () => {})", "timeout is at most 900 s"),
        ("app.task('a', { backoff: 'x' }, () => {})", "backoff: expected milliseconds"),
        ("app.task('a', () => {}); app.task('a', () => {})", "a task of that name already"),
        ("app.cron('* * * *', 'a', () => {})", "expected five fields"),
        ("app.cron('61 * * * *', 'a', () => {})", "minute: expected values from 0 to 59"),
    ] {
        let app = format!(
            "import {{ App }} from 'sarsen'; const app = new App();\n\
             {definition}; export default app;"
        );
        let error = load_error(&[("app.js", &app)]);
        assert!(error.contains(part) && error.starts_with("app.js:2:"), "{definition}: {error}");
    }
    let many = "import { App } from 'sarsen'; const app = new App();
        for (let i = 0; i <= 200; i += 1) app.task(`t${i}`, () => {}); export default app;";
    assert!(load_error(&[("app.js", many)]).contains("at most 200 tasks"));
}

#[test]
fn the_limits_of_the_application_hold_for_tasks_too() {
    let routes = "
        app.task('wide', { attempts: 1 }, ({ db, payload }) => {
          for (let i = 0; i < payload; i++) db.log.put(`k${i}`, i);
        });
        app.post('/wide/:n', ({ task, params }) => task('wide', Number(params.n)));";
    let settings = "[limits]\ndocuments_written = 5\n";
    let site = site_with(routes, Setup { settings, ..Setup::default() });
    // A task's own record is one of the documents.
    site.post("/wide/4");
    figures(&site, |figures| figures.runs == 1);
    site.post("/wide/5");
    figures(&site, |figures| figures.failures == 1 && figures.dead == 1);
    let dead = ledger(&site).list(List::Dead).unwrap().tasks;
    assert!(dead[0].error.as_deref().unwrap().contains("documents_written"), "{dead:?}");
    assert_eq!(number(&site, "k4"), None);
}

#[test]
fn what_was_not_committed_is_not_counted() {
    let site = site(
        "let tries = 0;
         app.task('later', () => {});
         app.service('orders', {
           onExpire: ({ task }) => {
             tries += 1;
             task('later', null, { delay: '1h' });
             throw new Error('not yet');
           },
         });
         app.post('/order', ({ db }) => db.orders.put('a', {}, { expiresIn: '1s' }));
         app.get('/tries', () => [tries]);",
    );
    site.post("/order");
    for tries in 1..=3 {
        pass(&site, 1_000 << tries);
        site.wait("it is tried", |site| site.text("/tries") >= format!("[{tries}]"));
    }
    assert!(ledger(&site).list(List::Waiting).unwrap().tasks.is_empty());
    assert_eq!(site.pool.task_figures().waiting, 0);
}
