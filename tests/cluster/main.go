// Command windlass-cluster is a real Kubernetes on one machine: it contains the upstream programs and makes clusters of
// them. Start reading at package lifecycle.
package main

import (
	"os"
	"runtime"

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
	os.Exit(verbs.Run(os.Args[1:], component.Names()))
}
