// Command image makes the archives of the container images that the tests run. It is apart from the cluster's binary
// so that it builds in seconds, and it is the program inside the pause image.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"windlass.dev/cluster/images"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == images.PauseVerb {
		images.Hold()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "image",
		Short:         "make container images as docker-archives",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(applications(), pause(), host())
	return root
}

func applications() *cobra.Command {
	var cache string
	var fresh bool
	command := &cobra.Command{
		Use:   "applications",
		Short: "make the databases, Prometheus and the exporters, and print the archive's path",
		Args:  cobra.NoArgs,
	}
	command.Flags().StringVar(&cache, "cache", "", "folder that holds images/ (default: windlass in the user's cache)")
	command.Flags().BoolVar(&fresh, "fresh", false, "take the packages of today although there is an image")
	command.RunE = func(command *cobra.Command, _ []string) error {
		store, err := openStore(cache)
		if err != nil {
			return err
		}
		obtain := store.Applications
		if fresh {
			obtain = store.FreshApplications
		}
		return printed(obtain(command.Context(), command.ErrOrStderr()))
	}
	return command
}

func pause() *cobra.Command {
	var cache string
	command := &cobra.Command{
		Use:   "pause",
		Short: "make the image that holds a Pod's namespaces, and print the archive's path",
		Args:  cobra.NoArgs,
	}
	command.Flags().StringVar(&cache, "cache", "", "folder that holds images/ (default: windlass in the user's cache)")
	command.RunE = func(*cobra.Command, []string) error {
		store, err := openStore(cache)
		if err != nil {
			return err
		}
		return printed(store.Pause())
	}
	return command
}

func host() *cobra.Command {
	var image images.Host
	var out string
	var files []string
	command := &cobra.Command{
		Use:   "host",
		Short: "make an image of a program of this machine and the libraries it is linked to",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	flags.StringVar(&image.Reference, "name", "", "the image's name with its tag")
	flags.StringVar(&image.Binary, "binary", "", "the program")
	flags.StringArrayVar(&files, "file", nil, "a further file, as SOURCE:TARGET (repeatable)")
	flags.StringVar(&out, "out", "", "the archive to write")
	for _, name := range []string{"name", "binary", "out"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was declared a few lines above
		}
	}
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		if image.Files, err = parseFiles(files); err != nil {
			return err
		}
		return printed(out, images.WriteHost(command.Context(), image, out))
	}
	return command
}

func openStore(cache string) (store images.Store, err error) {
	if cache == "" {
		if cache, err = images.DefaultCache(); err != nil {
			return store, err
		}
	}
	return images.OpenStore(cache)
}

func parseFiles(arguments []string) (map[string]string, error) {
	files := map[string]string{}
	for _, argument := range arguments {
		source, target, found := strings.Cut(argument, ":")
		if !found || source == "" || !strings.HasPrefix(target, "/") {
			return nil, fmt.Errorf("wrong --file %q: expected SOURCE:TARGET with an absolute TARGET", argument)
		}
		files[source] = target
	}
	return files, nil
}

func printed(archive string, err error) error {
	if err != nil {
		return err
	}
	fmt.Println(archive)
	return nil
}
