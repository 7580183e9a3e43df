package machine

import "testing"

func TestASettingIsLeftAloneWhenItServes(t *testing.T) {
	cases := map[string]struct {
		name, now, value string
		want             bool
	}{
		"equal":                        {"vm/overcommit_memory", "1", "1", true},
		"different":                    {"vm/overcommit_memory", "0", "1", false},
		"a higher mode is no limit":    {"vm/overcommit_memory", "2", "1", false},
		"limit is lower":               {"fs/inotify/max_user_instances", "128", "8192", false},
		"limit is higher":              {"fs/inotify/max_user_instances", "65536", "8192", true},
		"higher though shorter text":   {"fs/inotify/max_user_instances", "10000", "8192", true},
		"lower though greater as text": {"fs/inotify/max_user_instances", "900", "8192", false},
	}
	for name, c := range cases {
		if got := satisfied(c.name, c.now, c.value); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
