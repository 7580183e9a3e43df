package provisioner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v11/controller"
)

// volumes makes and removes volumes: each is a tmpfs of its own in a folder below root.
type volumes struct {
	root string
}

// Provision mounts a file system for the claim and describes it. It may be called again for the same volume.
func (v volumes) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := check(options); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	path := filepath.Join(v.root, options.PVName)
	size := options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := mount(path, size); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return describe(options, path), controller.ProvisioningFinished, nil
}

// check refuses what a folder on one node cannot be.
func check(options controller.ProvisionOptions) error {
	if options.PVC.Spec.Selector != nil {
		return errors.New("a claim with a selector cannot be provisioned: remove spec.selector")
	}
	if options.SelectedNode == nil {
		return errors.New("no node was selected: the storage class must bind with WaitForFirstConsumer")
	}
	return nil
}

// describe says how the kubelet of the one node finds the file system. The type is `local`, for which the kubelet
// applies fsGroup and unmounts cleanly.
func describe(options controller.ProvisionOptions, path string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: options.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: path},
			},
			NodeAffinity: on(options.SelectedNode),
		},
	}
}

func on(node *corev1.Node) *corev1.VolumeNodeAffinity {
	hostname := corev1.NodeSelectorRequirement{
		Key:      corev1.LabelHostname,
		Operator: corev1.NodeSelectorOpIn,
		Values:   []string{node.Labels[corev1.LabelHostname]},
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{hostname}},
	}}}
}

// Delete removes the volume's file system and with it the data.
func (v volumes) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	path, err := v.path(volume)
	if err != nil {
		return err
	}
	return remove(path)
}

// path is where the volume is mounted; a volume that says anything outside root was not made here.
func (v volumes) path(volume *corev1.PersistentVolume) (string, error) {
	if volume.Spec.Local == nil || volume.Spec.Local.Path != filepath.Join(v.root, volume.Name) {
		return "", fmt.Errorf("failed to find volume %s: it does not lie in %s", volume.Name, v.root)
	}
	return volume.Spec.Local.Path, nil
}
