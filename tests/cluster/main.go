// Command windlass-cluster is a real Kubernetes on one machine: it contains the upstream programs and makes clusters of
// them. Start reading at package lifecycle.
package main

import (
	"io"
	"os"
	"runtime"

	"google.golang.org/grpc/grpclog"

	"windlass.dev/cluster/component"
	"windlass.dev/cluster/verbs"
)

// Package namespace changes what a thread sees and then lets it end. Only the first thread cannot end, and files such as
// /proc/self show what it sees: keep it for this goroutine.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 1 && component.Contains(os.Args[1]) {
		os.Exit(component.Run(os.Args[1:]))
	}
	// What a library of this program has to say about connections is for those who wait for them, in their words.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	os.Exit(verbs.Run(os.Args[1:], component.Names()))
}
