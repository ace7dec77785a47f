//! The floor: a single exchange over HTTP.
//!
//! Threads, runtimes, libraries and their settings are those of voters: only the protocol, its
//! documents and the state directory are left out.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tenure::clock;
use tokio::runtime::{Builder, Handle};

use crate::distance::Distance;
use crate::{Result, processor};

pub(crate) struct Caller {
    thread: Handle,
    http: Client<HttpConnector, Full<Bytes>>,
}

impl Caller {
    pub(crate) fn start() -> Result<Self> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new()).build(tcp);
        Ok(Self { thread: thread()?, http })
    }

    /// Measures an exchange: from the request to the complete answer, both on the application's
    /// thread.
    pub(crate) async fn post(&self, url: &str, body: Bytes) -> Result<(StatusCode, Bytes)> {
        self.ask(Request::post(url).body(Full::from(body))?).await
    }

    pub(crate) async fn get(&self, url: &str) -> Result<(StatusCode, Bytes)> {
        self.ask(Request::get(url).body(Full::default())?).await
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes)> {
        let asked = self.http.request(request);
        let exchange = self.thread.spawn(async move {
            let answer = asked.await?;
            let status = answer.status();
            Result::Ok((status, answer.into_body().collect().await?.to_bytes()))
        });
        exchange.await?
    }
}

/// A client, and a distant server that returns the request.
pub(crate) struct Bare {
    caller: Caller,
    url: String,
    body: Bytes,
}

impl Bare {
    pub(crate) fn start(distance: &Distance, length: usize) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = distance.before(listener.local_addr()?)?;
        thread()?.spawn(serve(listener));
        let body = vec![b'x'; length].into();
        Ok(Self { caller: Caller::start()?, url: url(address), body })
    }

    pub(crate) async fn exchange(&self) -> Result<Duration> {
        let began = clock::now();
        let (status, _) = self.caller.post(&self.url, self.body.clone()).await?;
        let took = clock::now().since(began);
        if status.is_success() { Ok(took) } else { Err(format!("a bare {status}").into()) }
    }

    /// Measures the processor time of one exchange, of both sides together. A pause follows each
    /// exchange, as among 25 voters, so that each exchange wakes up its threads.
    pub(crate) async fn cost(&self) -> Result<Duration> {
        const COUNT: u32 = 1_000;
        // The first exchange connects.
        self.exchange().await?;
        let before = processor::used();
        for _ in 0..COUNT {
            self.exchange().await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok((processor::used() - before) / COUNT)
    }
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

fn thread() -> Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    Ok(handle)
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let echo = service_fn(|request: Request<Incoming>| async {
            let body = request.into_body().collect().await;
            let body = body.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
            Ok::<_, Infallible>(Response::new(Full::new(body)))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), echo));
    }
}
