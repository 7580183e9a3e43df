// Package verbs is the command line: each verb is a thin cover over one function of package lifecycle.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"windlass.dev/cluster/images"
	"windlass.dev/cluster/lifecycle"
	"windlass.dev/cluster/provisioner"
)

// DefaultState is where clusters live unless --state says otherwise.
const DefaultState = "/var/lib/windlass"

// exitCode is an error that carries the code of a program that was run for the caller and has told its own story.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// Run does what the arguments ask and returns the exit code. Programs are the names of the upstream programs that this
// binary contains, for its help text.
func Run(args []string, programs []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := rootCommand(programs)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "windlass-cluster:", err)
		return 1
	}
	return 0
}

func rootCommand(programs []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "windlass-cluster",
		Short: "a real Kubernetes on this machine",
		Long: "Makes Kubernetes clusters on this machine, each in a network namespace of its own.\n\n" +
			"With one of these as first argument it is that program: " + strings.Join(programs, ", ") + ".",
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true,
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	options := &options{}
	root.PersistentFlags().StringVar(&options.state, "state", DefaultState, "directory of all clusters' files")
	root.PersistentFlags().StringVar(&options.cache, "cache", "", "folder with bin/ and images/ (default: windlass in the user's cache)")
	root.AddCommand(up(options), down(options), status(options), list(options), loadImage(options),
		stopComponent(options), startComponent(options), execNetns(options), containerPID(options), provisioner.Command())
	return root
}

// options are the flags that all or most verbs have.
type options struct{ state, cache, name string }

// named adds the flag that picks a cluster.
func (o *options) named(command *cobra.Command) *cobra.Command {
	command.Flags().StringVar(&o.name, "name", "windlass", "the cluster's name")
	return command
}

func (o *options) home() (lifecycle.Home, error) {
	state, err := filepath.Abs(o.state)
	if err != nil {
		return lifecycle.Home{}, fmt.Errorf("failed to find the state directory: %w", err)
	}
	cache, err := o.cacheDir()
	if err != nil {
		return lifecycle.Home{}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return lifecycle.Home{}, fmt.Errorf("failed to find this program's file: %w", err)
	}
	return lifecycle.Home{State: state, Cache: cache, Binary: binary, Progress: os.Stderr}, nil
}

func (o *options) cacheDir() (string, error) {
	if o.cache != "" {
		return filepath.Abs(o.cache)
	}
	return images.DefaultCache()
}
