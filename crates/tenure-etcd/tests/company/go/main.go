// A stranger in the company: what a Go program does that takes part in an election by etcd's
// own package clientv3/concurrency.
//
// It tells what it takes for true in lines, with the instant of CLOCK_BOOTTIME in nanoseconds:
//
//	company campaign ENDPOINT ELECTION VALUE TTL
//	    ready                       it would hear of SIGINT
//	    leading KEY REVISION SINCE
//	    led UNTIL                   SIGINT came; its key is deleted after this
//	    left                        nothing of it is in etcd any more
//	    lost INSTANT                its session is over
//	company observe ENDPOINT ELECTION
//	    leader KEY REVISION VALUE
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("expected: campaign|observe ENDPOINT ELECTION [VALUE TTL]")
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{args[1]},
		DialTimeout: 30 * time.Second,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	switch {
	case args[0] == "observe" && len(args) == 3:
		return observe(ctx, client, args[2])
	case args[0] == "campaign" && len(args) == 5:
		ttl, err := strconv.Atoi(args[4])
		if err != nil {
			return err
		}
		return campaign(ctx, client, args[2], args[3], ttl)
	}
	return fmt.Errorf("unknown arguments %q", args)
}

func campaign(ctx context.Context, client *clientv3.Client, name, value string, ttl int) error {
	fmt.Println("ready")
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return err
	}
	election := concurrency.NewElection(session, name)
	err = election.Campaign(ctx, value)
	switch {
	case err == nil:
		fmt.Println("leading", election.Key(), election.Rev(), now())
		select {
		case <-session.Done():
			fmt.Println("lost", now())
			return nil
		case <-ctx.Done():
		}
		fmt.Println("led", now())
		if err := election.Resign(context.Background()); err != nil {
			return err
		}
	case ctx.Err() == nil:
		return err
	}
	if err := session.Close(); err != nil {
		return err
	}
	fmt.Println("left")
	return nil
}

func observe(ctx context.Context, client *clientv3.Client, name string) error {
	session, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	defer session.Close()
	for seen := range concurrency.NewElection(session, name).Observe(ctx) {
		leader := seen.Kvs[0]
		fmt.Printf("leader %s %d %s\n", leader.Key, leader.CreateRevision, leader.Value)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("the observer has ended by itself")
	}
	return nil
}

func now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
