// Package component holds the upstream programs that this one binary contains and runs the one that was asked for.
package component

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// constructors are those that upstream's own main functions call.
var constructors = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":              proxy.NewProxyCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

// Contains tells whether name is an upstream program of this binary.
func Contains(name string) bool {
	return name == "etcd" || constructors[name] != nil
}

// Names lists the upstream programs of this binary.
func Names() []string {
	return append([]string{"etcd"}, slices.Sorted(maps.Keys(constructors))...)
}

// Run becomes the upstream program args[0] with the arguments after it and returns its exit code.
func Run(args []string) int {
	// The user agent that a server sees and audits is taken from here.
	os.Args = args
	if args[0] == "etcd" {
		etcdmain.Main(args)
		return 0
	}
	command := constructors[args[0]]()
	command.SetArgs(args[1:])
	return cli.Run(command)
}
