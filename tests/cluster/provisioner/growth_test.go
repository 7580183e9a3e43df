package provisioner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func bound(requested, has string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{UID: "claim"},
		Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: storage(requested)}},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage(has)},
	}
}

func volume(has string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-claim", Annotations: map[string]string{provisionedBy: Name}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: storage(has),
			ClaimRef: &corev1.ObjectReference{UID: "claim"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: "/volumes/pvc-claim"},
			},
		},
	}
}

func TestGrowth(t *testing.T) {
	unbound := bound("2Gi", "1Gi")
	unbound.Status.Phase = corev1.ClaimPending
	foreign := volume("1Gi")
	foreign.Annotations[provisionedBy] = "somebody.else"
	taken := volume("1Gi")
	taken.Spec.ClaimRef.UID = "another"

	for name, test := range map[string]struct {
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		wanted bool
	}{
		"a claim that asks for what it has stays":              {bound("1Gi", "1Gi"), volume("1Gi"), false},
		"the same size in other words stays":                   {bound("1024Mi", "1Gi"), volume("1Gi"), false},
		"a claim that asks for more grows":                     {bound("2Gi", "1Gi"), volume("1Gi"), true},
		"a growth that stopped after the volume is taken up":   {bound("2Gi", "1Gi"), volume("2Gi"), true},
		"a claim that asks for less than it has never shrinks": {bound("1Gi", "2Gi"), volume("2Gi"), false},
		"a claim that is not bound waits":                      {unbound, volume("1Gi"), false},
		"another provisioner's volume is left alone":           {bound("2Gi", "1Gi"), foreign, false},
		"another claim's volume is left alone":                 {bound("2Gi", "1Gi"), taken, false},
	} {
		t.Run(name, func(t *testing.T) {
			size, wanted := growth(test.claim, test.volume)
			if wanted != test.wanted {
				t.Errorf("wanted %t, got %t", test.wanted, wanted)
			}
			if wanted && size.String() != "2Gi" {
				t.Errorf("wanted to grow to 2Gi, got %s", size.String())
			}
		})
	}
}

func TestStatusOfGrowth(t *testing.T) {
	before := bound("2Gi", "1Gi")
	size := resource.MustParse("2Gi")

	during := announced(announced(before, size, metav1.Now()), size, metav1.Now())
	if conditions := during.Status.Conditions; len(conditions) != 1 || conditions[0].Type != corev1.PersistentVolumeClaimResizing {
		t.Errorf("an announced growth has the one condition Resizing, got %v", conditions)
	}
	if has := during.Status.Capacity.Storage(); has.String() != "1Gi" {
		t.Errorf("an announced growth has not happened yet, got a capacity of %s", has)
	}

	after := grown(during, size)
	if len(after.Status.Conditions) != 0 || len(after.Status.AllocatedResourceStatuses) != 0 {
		t.Errorf("nothing is under way after a growth, got %v and %v", after.Status.Conditions, after.Status.AllocatedResourceStatuses)
	}
	if has := after.Status.Capacity.Storage(); has.String() != "2Gi" {
		t.Errorf("wanted a capacity of 2Gi, got %s", has)
	}
	if _, wanted := growth(after, volume("2Gi")); wanted {
		t.Error("a claim that has grown wants to grow again")
	}
}

func TestPathStaysBelowRoot(t *testing.T) {
	volumes := volumes{root: "/volumes"}
	if path, err := volumes.path(volume("1Gi")); err != nil || path != "/volumes/pvc-claim" {
		t.Errorf("wanted the volume's own folder, got %q, %v", path, err)
	}
	elsewhere := volume("1Gi")
	elsewhere.Spec.Local.Path = "/etc"
	if path, err := volumes.path(elsewhere); err == nil {
		t.Errorf("a volume outside root would be unmounted: %q", path)
	}
}
