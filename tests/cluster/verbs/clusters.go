package verbs

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"windlass.dev/cluster/lifecycle"
	"windlass.dev/cluster/state"
)

func up(o *options) *cobra.Command {
	var controlPlane bool
	command := &cobra.Command{
		Use:   "up",
		Short: "make the cluster, or bring it back to work; the last line printed is the path of its kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			kind := state.Full
			if controlPlane {
				kind = state.ControlPlane
			}
			cluster, err := home.Up(command.Context(), o.name, kind)
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), cluster.Kubeconfig())
			return nil
		},
	}
	command.Flags().BoolVar(&controlPlane, "control-plane", false, "etcd and API server only: up in seconds, runs no Pods, needs no root")
	return o.named(command)
}

func down(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "down",
		Short: "remove the cluster and everything that `up` made for it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			return home.Down(command.Context(), o.name)
		},
	})
}

func status(o *options) *cobra.Command {
	output := outputFormat("text")
	command := &cobra.Command{
		Use:   "status",
		Short: "tell what runs; fails when the cluster is not healthy",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			status, err := home.Status(command.Context(), o.name)
			if err != nil {
				return err
			}
			if err := output.print(command.OutOrStdout(), status); err != nil {
				return err
			}
			if !status.Healthy {
				return exitCode(2)
			}
			return nil
		},
	}
	command.Flags().VarP(&output, "output", "o", "text or json")
	return o.named(command)
}

func list(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "print the names of all clusters, half-made ones too",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			names, err := state.Names(home.State)
			for _, name := range names {
				fmt.Fprintln(command.OutOrStdout(), name)
			}
			return err
		},
	}
}

// outputFormat is a flag that takes one of two words.
type outputFormat string

func (f *outputFormat) String() string { return string(*f) }
func (f *outputFormat) Type() string   { return "format" }

func (f *outputFormat) Set(value string) error {
	if value != "text" && value != "json" {
		return fmt.Errorf("there are text and json")
	}
	*f = outputFormat(value)
	return nil
}

func (f *outputFormat) print(out io.Writer, status *lifecycle.Status) error {
	if *f == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	return printText(out, status)
}

func printText(out io.Writer, status *lifecycle.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "cluster\t%s (%s)\n", status.Name, status.Kind)
	fmt.Fprintf(table, "API server\t%s\n", status.APIServer)
	fmt.Fprintf(table, "kubeconfig\t%s\n", status.Kubeconfig)
	if status.Node != nil {
		fmt.Fprintf(table, "node\tready: %t\n", status.Node.Ready)
	}
	for _, component := range status.Components {
		if component.Running {
			fmt.Fprintf(table, "%s\tprocess %d since %s\n", component.Name, component.PID, component.Since.Format("15:04:05"))
		} else {
			fmt.Fprintf(table, "%s\tdoes not run; see %s\n", component.Name, component.Log)
		}
	}
	for _, line := range strings.Split(status.Problem, "\n") {
		if line != "" {
			fmt.Fprintf(table, "problem\t%s\n", line)
		}
	}
	return table.Flush()
}
