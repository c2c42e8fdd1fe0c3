//! One who reads the feed as a stream: follows the log and sends events, as fast as the connection
//! takes them and no faster. It keeps one batch of records and one piece; what waits for a slow
//! connection waits in the log.

use crate::access::Principal;
use crate::feed::event::{Filter, Rendered};
use crate::limits::{FEED_PIECE_BYTES, FEED_POSITION_EVERY};
use crate::reactor::Reactor;
use crate::replies::Held;
use bytes::Bytes;
use repository::{CommitNumber, LogError, LogReader, LogRecord};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

/// Where pieces of the stream go.
pub(crate) type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// Records with more bytes than these are told on a thread that may take its time.
const TOLD_HERE_BYTES_MAX: usize = 256 << 10;

/// How long a browser waits before it opens the stream again.
const RETRY: Duration = Duration::from_secs(2);

/// Said last where something is wrong here, which is logged.
const CANNOT: &str = ": the server cannot read on\n\n";

/// What an event takes beside what it tells, at most.
const EVENT_BYTES: usize = 64;

/// Events that are sent together, and the room that they have.
#[derive(Default)]
struct Piece {
    text: String,
    room: Option<Held>,
}

impl Piece {
    fn left_bytes(&self) -> usize {
        self.room.as_ref().map_or(0, |room| room.bytes().saturating_sub(self.text.len()))
    }
}

/// See the module.
pub(crate) struct Stream {
    pub reactor: Rc<Reactor>,
    /// Taken out while a thread reads the disk with it.
    pub reader: Option<LogReader>,
    pub filter: Filter,
    pub pieces: Pieces,
}

/// Why a stream ends.
enum End {
    /// The client has gone.
    Left,
    /// What is to be said last.
    Said(String),
}

impl Stream {
    /// Feeds it until the client goes, the server ends, or what comes next is not kept any more.
    /// `who` tells again and again who reads; `None`: nobody who may.
    pub(crate) async fn run(mut self, who: impl Fn() -> Option<Principal>) {
        let end = match self.send(format!("retry: {}\n\n", RETRY.as_millis())).await {
            Ok(()) => self.follow(&who).await,
            Err(end) => end,
        };
        if let End::Said(last) = end {
            // The client may have gone by now.
            let _ = self.pieces.send(Ok(Bytes::from(last))).await;
        }
    }

    async fn follow(&mut self, who: &impl Fn() -> Option<Principal>) -> End {
        let mut every =
            tokio::time::interval_at(Instant::now() + FEED_POSITION_EVERY, FEED_POSITION_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = self.position();
        loop {
            let pieces = self.pieces.clone();
            let taken = tokio::select! {
                biased;
                () = pieces.closed() => return End::Left,
                _ = every.tick() => {
                    let Some(principal) = who() else {
                        return End::Said(": the token is not valid any more\n\n".to_owned());
                    };
                    self.filter.principal = principal;
                    match self.tell_position(&mut told).await {
                        Ok(()) => continue,
                        Err(end) => return end,
                    }
                }
                taken = self.recent() => taken,
            };
            let taken = match taken {
                Some(taken) => taken,
                None => self.take_from_disk().await,
            };
            match taken {
                Ok(records) => match self.tell(&records).await {
                    Ok(true) => told = self.position(),
                    Ok(false) => {}
                    Err(end) => return end,
                },
                Err(error) => return self.ended(&error),
            }
        }
    }

    fn position(&self) -> CommitNumber {
        self.reader.as_ref().map(LogReader::position).unwrap_or_default()
    }

    /// Waits for more in memory; `None`: it is on the disk. Given up half way, it loses nothing.
    async fn recent(&mut self) -> Option<Result<Vec<LogRecord>, LogError>> {
        let news = &self.reactor.news;
        let Some(reader) = &mut self.reader else { return Some(Err(LogError::Closed)) };
        let look = || match reader.take_recent() {
            _ if news.is_over() => Some(Some(Err(LogError::Closed))),
            Some(Ok(records)) if records.is_empty() => None,
            taken => Some(taken),
        };
        news.next(look).await
    }

    /// Reads on from the disk.
    async fn take_from_disk(&mut self) -> Result<Vec<LogRecord>, LogError> {
        let Some(mut reader) = self.reader.take() else { return Err(LogError::Closed) };
        let position = reader.position();
        let work = move || {
            let taken = reader.take();
            (reader, taken)
        };
        match self.reactor.off_thread(work).await {
            Ok((reader, taken)) => {
                self.reader = Some(reader);
                taken
            }
            Err(_) => {
                log::error!("a reader of the feed was lost after commit {position}");
                Err(LogError::Closed)
            }
        }
    }

    /// Sends what the filter admits. Gives whether there was any.
    async fn tell(&mut self, records: &[LogRecord]) -> Result<bool, End> {
        let mut piece = Piece::default();
        let mut events = 0;
        for record in records {
            let rendered = self.rendered(record).await?;
            let bytes = rendered.bytes() + EVENT_BYTES;
            if piece.left_bytes() < bytes {
                // Before more room is waited for, so that nobody waits who holds what others need.
                self.send_piece(std::mem::take(&mut piece)).await?;
                piece.room = Some(self.room(bytes.max(FEED_PIECE_BYTES)).await?);
            }
            events +=
                u64::from(rendered.append_event(record.number, &self.filter, &mut piece.text));
            if piece.text.len() >= FEED_PIECE_BYTES {
                self.send_piece(std::mem::take(&mut piece)).await?;
            }
        }
        self.reactor.observer.feeds.count(events, 0);
        self.send_piece(piece).await?;
        Ok(events > 0)
    }

    /// Waits until so many bytes may wait for the client.
    async fn room(&self, bytes: usize) -> Result<Held, End> {
        tokio::select! {
            biased;
            () = self.pieces.closed() => Err(End::Left),
            held = self.reactor.replies.room(bytes) => Ok(held),
        }
    }

    async fn rendered(&self, record: &LogRecord) -> Result<Arc<Rendered>, End> {
        let observer = &self.reactor.observer;
        let rendered = if record.record.len() > TOLD_HERE_BYTES_MAX {
            let (observer, record) = (Arc::clone(observer), record.clone());
            let work = move || observer.feeds.render(&record);
            self.reactor.off_thread(work).await.map_err(|_| End::Left)?
        } else {
            observer.feeds.render(record)
        };
        rendered.map_err(|why| {
            log::error!("the feed cannot tell of a commit: {why}");
            End::Said(CANNOT.to_owned())
        })
    }

    /// Says where the stream is, if that has changed without an event; else that it lives.
    async fn tell_position(&mut self, told: &mut CommitNumber) -> Result<(), End> {
        let position = self.position();
        let text = match position == *told {
            true => ":\n\n".to_owned(),
            false => {
                format!("event: position\nid: {position}\ndata: {{\"commit\":{position}}}\n\n")
            }
        };
        *told = position;
        self.send(text).await
    }

    async fn send_piece(&mut self, piece: Piece) -> Result<(), End> {
        let Piece { mut text, room } = piece;
        let Some(mut room) = room.filter(|_| !text.is_empty()) else { return Ok(()) };
        text.shrink_to_fit();
        room.shrink(text.len());
        self.reactor.observer.feeds.count(0, text.len());
        self.pieces.send(Ok(room.of(Bytes::from(text)))).await.map_err(|_| End::Left)
    }

    /// Sends a few words, which are not counted.
    async fn send(&mut self, words: String) -> Result<(), End> {
        self.reactor.observer.feeds.count(0, words.len());
        self.pieces.send(Ok(Bytes::from(words))).await.map_err(|_| End::Left)
    }

    fn ended(&self, error: &LogError) -> End {
        match error {
            LogError::Gone { after } => {
                self.reactor.observer.feeds.count_gone();
                End::Said(format!("event: gone\ndata: {{\"after\":{after}}}\n\n"))
            }
            LogError::Closed => End::Said(": the server ends\n\n".to_owned()),
            other => {
                log::error!("a stream of the feed ends: {other}");
                End::Said(CANNOT.to_owned())
            }
        }
    }
}
