//! [`Call`]: one streaming call of gRPC's, in a thread of its own.

use std::{
    error::Error,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use http::uri::PathAndQuery;
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::{AbortHandle, JoinHandle},
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, client::Grpc, metadata::MetadataMap, transport::Endpoint};
use tonic_prost::ProstCodec;

use crate::messages::{Reply, Request};

/// Larger replies end the call.
const MOST_REPLY_BYTES: usize = 1 << 30;

/// What a call gives.
pub(crate) enum Arrived {
    Reply(Box<Reply>),
    /// The server has nothing more to say, or the connection has ended.
    End(Result<(), Status>),
}

/// Requests go out as they come, and replies wait to be taken.
pub(crate) struct Call {
    requests: Option<UnboundedSender<Request>>,
    replies: Receiver<Arrived>,
    abort: AbortHandle,
}

impl Call {
    /// Begins to call a method.
    ///
    /// # Errors
    /// The system has no more threads or descriptors.
    pub(crate) fn begin(
        endpoint: Endpoint,
        method: &'static str,
        metadata: MetadataMap,
    ) -> io::Result<Self> {
        let (requests, to_send) = unbounded_channel();
        let (heard, replies) = channel();
        let mut request = tonic::Request::new(UnboundedReceiverStream::new(to_send));
        *request.metadata_mut() = metadata;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let task = runtime.spawn(talk(endpoint, method, request, heard.clone()));
        let abort = task.abort_handle();
        let run = move || run(runtime, task, &heard);
        thread::Builder::new()
            .name("batch-replies".to_owned())
            .spawn(run)?;
        Ok(Self {
            requests: Some(requests),
            replies,
            abort,
        })
    }

    /// Sends a request, if the call has not ended.
    pub(crate) fn send(&self, request: Request) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(request); // that it has ended is heard from `next`
        }
    }

    /// What arrives next, if it does in time.
    pub(crate) fn next(&self, limit: Duration) -> Option<Arrived> {
        match self.replies.recv_timeout(limit) {
            Ok(arrived) => Some(arrived),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Arrived::End(Ok(()))),
        }
    }

    /// Ends the call after a last request, once the server has heard of it, but not for ever.
    pub(crate) fn end_with(&mut self, request: Request, limit: Duration) {
        self.send(request);
        self.requests = None;
        let until = Instant::now() + limit;
        while let Some(Arrived::Reply(_)) =
            self.next(until.saturating_duration_since(Instant::now()))
        {}
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

fn run(runtime: Runtime, task: JoinHandle<Result<(), Status>>, heard: &Sender<Arrived>) {
    let ended = runtime.block_on(task);
    // Nobody waits for what looks up a name.
    runtime.shutdown_background();
    let end = ended.unwrap_or_else(|_| Err(Status::cancelled("it was left")));
    let _ = heard.send(Arrived::End(end));
}

async fn talk(
    endpoint: Endpoint,
    method: &'static str,
    request: tonic::Request<UnboundedReceiverStream<Request>>,
    heard: Sender<Arrived>,
) -> Result<(), Status> {
    let connecting = endpoint.connect().await;
    let channel = connecting.map_err(|error| Status::unavailable(cause(&error)))?;
    let mut client = Grpc::new(channel).max_decoding_message_size(MOST_REPLY_BYTES);
    let lost = |error: tonic::transport::Error| Status::unavailable(cause(&error));
    client.ready().await.map_err(lost)?;
    let codec = ProstCodec::<Request, Reply>::default();
    let reply = client.streaming(request, PathAndQuery::from_static(method), codec);
    let mut replies = reply.await?.into_inner();
    while let Some(reply) = replies.message().await? {
        if heard.send(Arrived::Reply(Box::new(reply))).is_err() {
            break;
        }
    }
    Ok(())
}

/// Why a call ended. What the network did has another error behind it; what the server said has none.
pub(crate) fn code_and_details(status: &Status) -> (Code, String) {
    match (status.source(), status.code()) {
        (Some(error), code) if code != Code::Cancelled => (Code::Unavailable, cause(error)),
        (_, code) => {
            let words: Vec<_> = status.message().split_whitespace().collect();
            (code, words.join(" "))
        }
    }
}

/// The first cause of an error, which says most.
pub(crate) fn cause(mut error: &(dyn Error + 'static)) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
