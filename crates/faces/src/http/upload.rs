//! Content that is not JSON, on its way in: what is small becomes the body of a document, all else
//! is written to the disk as it comes, on threads that may block, in bounded memory.

use crate::http::body::{self, Arriving, Reserved};
use crate::http::framing::Framed;
use crate::limits::{UPLOAD_BATCH_BYTES, UPLOAD_BYTES_MAX};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use bytes::{Bytes, BytesMut};
use hyper::body::Body;
use repository::limits::DOCUMENT_INLINE_BYTES_MAX;
use repository::{BlobError, BlobWriter, Content, PinnedBlob};
use tokio::task::JoinHandle;

/// What came.
pub(crate) struct Received {
    pub content: Arrived,
    /// To be kept as long as the content.
    pub reserved: Reserved,
}

/// See [`Received`].
pub(crate) enum Arrived {
    Bytes(Bytes),
    Blob(PinnedBlob),
}

/// Reads `body` to its end and takes it out of the option; after a failure it is still there, and
/// nothing of it anywhere else.
pub(crate) async fn read(
    body: &mut Option<Framed>,
    reactor: &Reactor,
) -> Result<Received, Problem> {
    let mut reserved = reactor.room.reserve_nothing();
    let Some(incoming) = body else {
        return Ok(Received { content: Arrived::Bytes(Bytes::new()), reserved });
    };
    // Before the first byte is asked for: a client that waits for 100 (Continue) need not send.
    body::check_size(incoming.size_hint().lower(), UPLOAD_BYTES_MAX)?;
    let mut arriving = Arriving::new(incoming, reactor.timeouts.body);
    let mut batch = Batch::default();
    let content = loop {
        let Some(piece) = arriving.next().await? else {
            reserved.grow(batch.bytes)?;
            break Arrived::Bytes(batch.joined());
        };
        batch.push(piece);
        if batch.bytes > DOCUMENT_INLINE_BYTES_MAX {
            // One is written while the next comes, and the writer has a part of one.
            reserved.grow(3 * UPLOAD_BATCH_BYTES)?;
            break write(arriving, batch, reactor).await?;
        }
    };
    *body = None;
    Ok(Received { content, reserved })
}

/// Pieces of content that are written together.
#[derive(Default)]
struct Batch {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push(piece);
    }

    /// A copy, in any case: a piece keeps all of the read buffer that it came in.
    fn joined(self) -> Bytes {
        let mut joined = BytesMut::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| joined.extend_from_slice(piece));
        joined.freeze()
    }
}

async fn write(
    mut arriving: Arriving<'_>,
    mut batch: Batch,
    reactor: &Reactor,
) -> Result<Arrived, Problem> {
    let mut writing = Writing::Idle(Box::new(reactor.repository.blob_writer(UPLOAD_BYTES_MAX)));
    while let Some(piece) = arriving.next().await? {
        batch.push(piece);
        if batch.bytes >= UPLOAD_BATCH_BYTES {
            let begun = tokio::time::Instant::now();
            writing = writing.go_on(std::mem::take(&mut batch), reactor).await?;
            // The disk's time is not the client's.
            arriving.excuse(begun.elapsed());
        }
    }
    let writer = writing.go_on(batch, reactor).await?.idle().await?;
    let finished = reactor.disk.run(move || writer.finish()).await?;
    Ok(match finished.map_err(|error| problem(&error))? {
        Content::Blob(blob) => Arrived::Blob(blob),
        Content::Inline(bytes) => Arrived::Bytes(bytes),
    })
}

/// Who writes: one batch is written while the next comes. Dropped in the middle, it is given up.
enum Writing {
    Idle(Box<BlobWriter>),
    Busy(JoinHandle<Result<Box<BlobWriter>, BlobError>>),
}

impl Writing {
    async fn go_on(self, batch: Batch, reactor: &Reactor) -> Result<Self, Problem> {
        let mut writer = self.idle().await?;
        let write = move || {
            batch.pieces.iter().try_for_each(|piece| writer.write(piece))?;
            Ok(writer)
        };
        Ok(Self::Busy(reactor.disk.start(write).await))
    }

    async fn idle(self) -> Result<Box<BlobWriter>, Problem> {
        match self {
            Self::Idle(writer) => Ok(writer),
            Self::Busy(busy) => {
                let written = busy.await.map_err(|panic| Problem::internal(&panic))?;
                written.map_err(|error| problem(&error))
            }
        }
    }
}

/// What a client is told of a failure to write, or to read what was written.
pub(super) fn problem(error: &BlobError) -> Problem {
    match error {
        BlobError::TooLarge { .. } => Problem::new(Kind::BodyTooLarge, error.to_string()),
        BlobError::TooManyWriters => Problem::new(Kind::Busy, error.to_string()),
        error if error.is_out_of_space() => {
            log::warn!("content could not be stored: {error}");
            Problem::new(Kind::NoSpace, "the server's disk is nearly full; nothing was changed")
        }
        error => Problem::internal(error),
    }
}
