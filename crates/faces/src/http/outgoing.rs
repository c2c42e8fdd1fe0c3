//! The body of a reply: bytes that are there, or pieces that come one after the other.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::sync::{Notify, mpsc};

/// See the module.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// All of it.
    Whole(Bytes),
    /// As they come. Where an error comes, or they end before so many bytes as were announced, the
    /// client sees the connection (HTTP/2: the stream) break.
    Pieces(Pieces),
}

/// See [`Outgoing::pieces`].
#[derive(Debug)]
pub(crate) struct Pieces {
    coming: mpsc::Receiver<io::Result<Bytes>>,
    /// Told when a piece is wanted, by whoever waits for that.
    wanted: Option<Rc<Notify>>,
    /// Whether the next piece was asked for.
    is_wanted: bool,
    /// What came and was not asked for yet.
    ready: Bytes,
    /// Bytes that are still to come, if that is known.
    left: Option<u64>,
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl<B: Into<Bytes>> From<B> for Outgoing {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl Outgoing {
    /// Pieces that somebody sends, until that one is dropped or there were `left` bytes.
    pub(crate) fn pieces(coming: mpsc::Receiver<io::Result<Bytes>>, left: Option<u64>) -> Self {
        Self::Pieces(Pieces { coming, wanted: None, is_wanted: false, ready: Bytes::new(), left })
    }

    /// The same, which tells `wanted` once for each piece when it is waited for.
    pub(crate) fn wanted_pieces(
        coming: mpsc::Receiver<io::Result<Bytes>>,
        wanted: Rc<Notify>,
        left: u64,
    ) -> Self {
        let (wanted, ready, left) = (Some(wanted), Bytes::new(), Some(left));
        Self::Pieces(Pieces { coming, wanted, is_wanted: false, ready, left })
    }

    /// The bytes, if they are there; none of what comes in pieces.
    pub(crate) fn into_whole(self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces(_) => Bytes::new(),
        }
    }

    /// How many bytes are left, if that is known.
    pub(crate) fn left(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Pieces(pieces) => pieces.left,
        }
    }

    /// The next bytes, at most `most` of what is there already.
    pub(crate) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => {
                let next = bytes.split_to(bytes.len().min(most));
                Poll::Ready(Some(Ok(next)))
            }
            Self::Pieces(pieces) => pieces.poll_bytes(cx, most),
        }
    }
}

impl Pieces {
    fn poll_bytes(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Option<io::Result<Bytes>>> {
        while self.ready.is_empty() {
            if self.left == Some(0) {
                return Poll::Ready(None);
            }
            if let Some(wanted) = &self.wanted
                && !std::mem::replace(&mut self.is_wanted, true)
            {
                wanted.notify_one();
            }
            let Poll::Ready(piece) = self.coming.poll_recv(cx) else { return Poll::Pending };
            self.is_wanted = false;
            self.ready = match (piece, self.left) {
                (None, None) => return Poll::Ready(None),
                (None, Some(left)) => {
                    return broken(format!("{left} bytes of a reply are missing"));
                }
                (Some(Err(error)), _) => return Poll::Ready(Some(Err(error))),
                (Some(Ok(bytes)), Some(left)) if bytes.len() as u64 > left => {
                    return broken("a reply has more bytes than it said".to_owned());
                }
                (Some(Ok(bytes)), _) => bytes,
            };
        }
        let next = self.ready.split_to(self.ready.len().min(most));
        self.left = self.left.map(|left| left - next.len() as u64);
        Poll::Ready(Some(Ok(next)))
    }
}

fn broken(why: String) -> Poll<Option<io::Result<Bytes>>> {
    Poll::Ready(Some(Err(io::Error::other(why))))
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.poll_bytes(cx, usize::MAX).map(|next| next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn next(body: &mut Outgoing) -> Option<Result<usize, String>> {
        match body.poll_bytes(&mut Context::from_waker(Waker::noop()), 4) {
            Poll::Ready(next) => {
                next.map(|next| next.map(|bytes| bytes.len()).map_err(|error| error.to_string()))
            }
            Poll::Pending => panic!("nothing came"),
        }
    }

    #[test]
    fn what_is_there_goes_in_parts_that_fit() {
        let mut body = Outgoing::from("sixsix");
        assert_eq!(body.size_hint().exact(), Some(6));
        assert_eq!([next(&mut body), next(&mut body)], [Some(Ok(4)), Some(Ok(2))]);
        assert!(body.is_end_stream() && next(&mut body).is_none());
    }

    #[test]
    fn pieces_that_are_too_few_or_too_many_are_an_error() {
        let of = |sent: usize| {
            let (sender, receiver) = mpsc::channel(1);
            sender.try_send(Ok(Bytes::from(vec![0; sent]))).unwrap();
            Outgoing::pieces(receiver, Some(5))
        };
        let mut right = of(5);
        assert_eq!([next(&mut right), next(&mut right)], [Some(Ok(4)), Some(Ok(1))]);
        assert!(right.is_end_stream() && next(&mut right).is_none());
        let mut short = of(4);
        assert_eq!(next(&mut short), Some(Ok(4)));
        assert!(next(&mut short).unwrap().is_err());
        assert!(next(&mut of(6)).unwrap().is_err());
    }

    #[test]
    fn pieces_without_an_announced_end_end_with_their_sender() {
        let (sender, receiver) = mpsc::channel(1);
        let mut body = Outgoing::pieces(receiver, None);
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (None, false));
        sender.try_send(Ok(Bytes::from_static(b"abc"))).unwrap();
        drop(sender);
        assert_eq!((next(&mut body), next(&mut body)), (Some(Ok(3)), None));
    }
}
