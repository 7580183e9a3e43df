package provisioner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// provisionedBy is the annotation in which the library notes whose volume it is.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// growth is the size that the claim asks of its volume, when that is more than both are known to have.
func growth(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) (size resource.Quantity, wanted bool) {
	if !ours(claim, volume) {
		return size, false
	}
	size = claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return size, size.Cmp(volume.Spec.Capacity[corev1.ResourceStorage]) > 0 ||
		size.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) > 0
}

// ours tells whether the two are bound to each other and the volume was made here.
func ours(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	return claim.Status.Phase == corev1.ClaimBound &&
		volume.Annotations[provisionedBy] == Name &&
		volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID == claim.UID
}

// announced is the claim with a status that says it is about to grow.
func announced(claim *corev1.PersistentVolumeClaim, size resource.Quantity, now metav1.Time) *corev1.PersistentVolumeClaim {
	claim = claim.DeepCopy()
	claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: size}
	claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
		corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInProgress,
	}
	if !slices.ContainsFunc(claim.Status.Conditions, aboutGrowth) {
		claim.Status.Conditions = append(claim.Status.Conditions, corev1.PersistentVolumeClaimCondition{
			Type:               corev1.PersistentVolumeClaimResizing,
			Status:             corev1.ConditionTrue,
			LastTransitionTime: now,
		})
	}
	return claim
}

// grown is the claim with a status that says it has that size and nothing is under way.
func grown(claim *corev1.PersistentVolumeClaim, size resource.Quantity) *corev1.PersistentVolumeClaim {
	claim = claim.DeepCopy()
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
	claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: size}
	claim.Status.AllocatedResourceStatuses = nil
	claim.Status.Conditions = slices.DeleteFunc(claim.Status.Conditions, aboutGrowth)
	return claim
}

func aboutGrowth(condition corev1.PersistentVolumeClaimCondition) bool {
	return condition.Type == corev1.PersistentVolumeClaimResizing ||
		condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending
}
