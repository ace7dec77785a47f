//! Recipients that compare fences, as docs/howto/protect-data.md shows them: Postgres and Redis of
//! Debian, and a server in Python. Part of the soak, since it installs daemons.

use std::path::Path;

use tenure_services::recipients;
use tenure_testkit::processes::{Reader, addresses};

const PAGE: &str = include_str!("../../../docs/howto/protect-data.md");

/// Starts Postgres, which refuses to run as root, and Redis.
const START: &str = r#"
```sh
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid 65534 --regid 65534 --clear-groups"
    chmod 711 "$ROOT" "$ROOT/.."
    mkdir "$ROOT/pg" && chown 65534:65534 "$ROOT/pg"
fi
$as POSTGRES/initdb -D "$ROOT/pg" -A trust -U test >/dev/null
$as POSTGRES/pg_ctl -D "$ROOT/pg" -w -o "-p PG_PORT -h HOST_PORT_IP -k ''" -l "$ROOT/pg/log" start
redis-server --port REDIS_PORT --bind HOST_PORT_IP --save '' >redis.log &
export PGHOST=HOST_PORT_IP PGPORT=PG_PORT PGUSER=test PGDATABASE=postgres
until redis-cli ping; do sleep 0.1; done
```
"#;

#[test]
fn recipients_refuse_superseded_leaders() {
    let postgres = recipients().unwrap();
    let [pg, redis] = addresses();
    let client = format!(
        "#!/bin/sh\nexec /usr/bin/redis-cli -h {} -p {} \"$@\"\n",
        redis.ip(),
        redis.port()
    );
    let mut reader = Reader::new(env!("CARGO_BIN_EXE_tenure")).stand_in("redis-cli", &client);
    let start = START
        .replace("POSTGRES", &Path::display(&postgres).to_string())
        .replace("PG_PORT", &pg.port().to_string())
        .replace("REDIS_PORT", &redis.port().to_string())
        .replace("HOST_PORT_IP", &pg.ip().to_string());
    reader.follow(&start);
    reader.follow(PAGE);
}
