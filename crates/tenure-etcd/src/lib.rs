//! The driver of Tenure's elections on etcd. They share one keyspace with `etcdctl elect` and with
//! Go's `clientv3/concurrency`: candidates of all three contend in one election and agree on who
//! leads.
