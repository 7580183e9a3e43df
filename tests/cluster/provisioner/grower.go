package provisioner

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// grower gives claims the size that they ask for, while Pods use them.
type grower struct {
	client  kubernetes.Interface
	volumes volumes
	claims  listers.PersistentVolumeClaimLister
	known   listers.PersistentVolumeLister
	synced  []cache.InformerSynced
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	events  record.EventRecorder
}

// newGrower watches all claims. A new watch shows every claim as added, so a growth that an earlier process did not
// finish is found again.
func newGrower(client kubernetes.Interface, volumes volumes, factory informers.SharedInformerFactory, events record.EventRecorder) (*grower, error) {
	claims := factory.Core().V1().PersistentVolumeClaims()
	known := factory.Core().V1().PersistentVolumes()
	g := &grower{
		client:  client,
		volumes: volumes,
		claims:  claims.Lister(),
		known:   known.Lister(),
		synced:  []cache.InformerSynced{claims.Informer().HasSynced, known.Informer().HasSynced},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, 30*time.Second)),
		events: events,
	}
	_, err := claims.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    g.enqueue,
		UpdateFunc: func(_, claim any) { g.enqueue(claim) },
	})
	if err != nil {
		return nil, fmt.Errorf("failed to watch claims: %w", err)
	}
	return g, nil
}

func (g *grower) enqueue(object any) {
	if name, err := cache.ObjectToName(object); err == nil {
		g.queue.Add(name)
	}
}

// run works until the context ends.
func (g *grower) run(ctx context.Context) {
	context.AfterFunc(ctx, g.queue.ShutDown)
	if !cache.WaitForCacheSync(ctx.Done(), g.synced...) {
		return
	}
	for {
		name, shutdown := g.queue.Get()
		if shutdown {
			return
		}
		if err := g.reconcile(ctx, name); err != nil {
			klog.ErrorS(err, "Failed to grow a claim; trying again", "claim", name)
			g.queue.AddRateLimited(name)
		} else {
			g.queue.Forget(name)
		}
		g.queue.Done(name)
	}
}

// reconcile looks at one claim. A volume that is not known yet is waited for; a claim that is gone needs nothing.
func (g *grower) reconcile(ctx context.Context, name cache.ObjectName) error {
	claim, err := g.claims.PersistentVolumeClaims(name.Namespace).Get(name.Name)
	if err != nil || claim.Spec.VolumeName == "" {
		return nil
	}
	volume, err := g.known.Get(claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("failed to find the volume of the claim: %w", err)
	}
	if _, wanted := growth(claim, volume); !wanted {
		return nil
	}
	err = g.grow(ctx, claim, volume)
	// A conflict is nothing to tell: the kubelet writes the same status.
	if err != nil && !apierrors.IsConflict(err) {
		g.events.Eventf(claim, corev1.EventTypeWarning, "VolumeResizeFailed", "%v", err)
	}
	return err
}

// grow announces, acts and records. The claim's status comes last: who waits for it finds the space and the volume's
// capacity in place.
func (g *grower) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) error {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	path, err := g.volumes.path(volume)
	if err != nil {
		return err
	}
	claim, err = g.updateStatus(ctx, announced(claim, size, metav1.Now()))
	if err != nil {
		return err
	}
	if err := resize(path, size); err != nil {
		return err
	}
	volume = volume.DeepCopy()
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
	if _, err := g.client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("failed to store the new capacity of volume %s: %w", volume.Name, err)
	}
	claim, err = g.updateStatus(ctx, grown(claim, size))
	if err != nil {
		return err
	}
	g.events.Eventf(claim, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resized volume to %s", size.String())
	return nil
}

func (g *grower) updateStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	updated, err := g.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to store the status of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return updated, nil
}
