//! Recipients that compare fences, as docs/howto/protect-data.md shows them: Postgres and Redis of
//! Debian, and a server in Python. Part of the soak, since it installs daemons.

use tenure_services::resources;
use tenure_testkit::processes::Reader;

const PAGE: &str = include_str!("../../../docs/howto/protect-data.md");

const WAIT: &str = r#"
```sh
export PGHOST=PG_HOST PGPORT=PG_PORT PGUSER=postgres PGDATABASE=postgres
until redis-cli ping && psql -c 'SELECT 1'; do sleep 0.1; done
```
"#;

#[test]
fn recipients_refuse_superseded_leaders() {
    let postgres = resources::start_postgres().unwrap();
    let redis = resources::start_redis().unwrap();
    let client = format!(
        "#!/bin/sh\nexec /usr/bin/redis-cli -h {} -p {} \"$@\"\n",
        redis.address.ip(),
        redis.address.port()
    );
    let mut reader = Reader::new(env!("CARGO_BIN_EXE_tenure")).stand_in("redis-cli", &client);
    let wait = WAIT
        .replace("PG_HOST", &postgres.address.ip().to_string())
        .replace("PG_PORT", &postgres.address.port().to_string());
    reader.follow(&wait);
    reader.follow(PAGE);
}
