// Package provisioner makes a volume for each claim of the cluster's storage class: a tmpfs of the requested size, so
// that a full disk is really full, and growing is a matter of a moment.
package provisioner

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v11/controller"
)

// Name is what the storage class calls this provisioner.
const Name = "windlass.dev/tmpfs"

//go:embed manifests.yaml
var manifests []byte

// Manifests are the objects that the cluster needs beside the running provisioner, as YAML documents: the default
// storage class `standard`, and what the user `windlass:provisioner` may do.
func Manifests() []byte { return manifests }

// Command is the verb that serves claims until it is interrupted. Volumes outlive it: they are mounts,
// and the next one finds in the API server what it needs to know about them.
func Command() *cobra.Command {
	var kubeconfig, root string
	command := &cobra.Command{
		Use:          "provisioner",
		Short:        "serve the storage class `standard` with tmpfs mounts",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	command.Flags().StringVar(&root, "root", "", "folder to mount volumes in")
	for _, name := range []string{"kubeconfig", "root"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was declared a few lines above
		}
	}
	command.RunE = func(*cobra.Command, []string) error {
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
		defer stop()
		return serve(ctx, kubeconfig, root)
	}
	return command
}

func serve(ctx context.Context, kubeconfig, root string) error {
	// Volumes name their place for the kubelet, which may have another working directory.
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("failed to find the folder for volumes: %w", err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder for volumes: %w", err)
	}
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	volumes := volumes{root}
	factory := informers.NewSharedInformerFactory(client, 0)
	grower, err := newGrower(client, volumes, factory, recorder(ctx, client))
	if err != nil {
		return err
	}
	provision := newProvisionController(ctx, client, volumes, factory)
	factory.Start(ctx.Done())
	go grower.run(ctx)
	provision.Run(ctx)
	return nil
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("failed to read kubeconfig %s: %w", kubeconfig, err)
	}
	config.UserAgent = "windlass-provisioner"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("failed to make a client: %w", err)
	}
	return client, nil
}

func recorder(ctx context.Context, client kubernetes.Interface) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Name})
}

// newProvisionController is upstream's controller for making and removing. It runs alone, so without a lease, and
// tries again sooner than is polite on a shared cluster: a test waits for it.
func newProvisionController(ctx context.Context, client kubernetes.Interface, volumes volumes, factory informers.SharedInformerFactory) *controller.ProvisionController {
	return controller.NewProvisionController(ctx, client, Name, volumes,
		controller.LeaderElection(false),
		controller.ResyncPeriod(0), // the informers have none
		controller.RateLimiter(workqueue.NewItemExponentialFailureRateLimiter(100*time.Millisecond, 30*time.Second)),
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
		controller.ClaimsInformer(factory.Core().V1().PersistentVolumeClaims().Informer()),
		controller.VolumesInformer(factory.Core().V1().PersistentVolumes().Informer()),
	)
}
