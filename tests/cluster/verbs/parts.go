package verbs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func loadImage(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "load-image TAR",
		Short: "give the images of a docker-archive to the cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			return home.LoadImage(command.Context(), o.name, args[0])
		},
	})
}

func stopComponent(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "stop-component COMPONENT",
		Short: "end one component, such as kube-apiserver, and leave the others alone",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			return home.StopComponent(o.name, args[0])
		},
	})
}

func startComponent(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "start-component COMPONENT",
		Short: "start a stopped component and wait until it is ready",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			return home.StartComponent(command.Context(), o.name, args[0])
		},
	})
}

func execNetns(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "exec-netns -- COMMAND...",
		Short: "run a command in the cluster's network namespace",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			home, err := o.home()
			if err != nil {
				return err
			}
			code, err := home.InNetwork(command.Context(), o.name, args)
			if err != nil || code == 0 {
				return err
			}
			return exitCode(code)
		},
	})
}

func containerPID(o *options) *cobra.Command {
	return o.named(&cobra.Command{
		Use:   "container-pid NAMESPACE/POD[/CONTAINER]",
		Short: "print the process, on this machine, of a Pod's container",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			parts := strings.Split(args[0], "/")
			if len(parts) < 2 || len(parts) > 3 {
				return fmt.Errorf("%q is not NAMESPACE/POD or NAMESPACE/POD/CONTAINER", args[0])
			}
			home, err := o.home()
			if err != nil {
				return err
			}
			pid, err := home.ContainerPID(command.Context(), o.name, parts[0], parts[1], strings.Join(parts[2:], ""))
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), pid)
			return nil
		},
	})
}
