package main

import (
	"fmt"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/prometheus-operator/prometheus-operator/pkg/operator"
)

// ruleFiles checks the PrometheusRules that are selected by label in the Prometheus' own namespace.
func (w *world) ruleFiles(rejected map[string]string) map[string]any {
	selector, err := metav1.LabelSelectorAsSelector(w.prometheus.Spec.RuleSelector)
	if err != nil {
		return nil
	}
	files := map[string]any{}
	for _, rule := range w.rules {
		if rule.Namespace != w.prometheus.Namespace || !selector.Matches(labels.Set(rule.Labels)) {
			continue
		}
		name := fmt.Sprintf("%s/%s", rule.Namespace, rule.Name)
		if problems := operator.ValidateRule(rule.Spec); len(problems) > 0 {
			rejected["PrometheusRule/"+name] = problems[0].Error()
			continue
		}
		if text, err := yaml.Marshal(rule.Spec); err == nil {
			files[name], _ = parse(text)
		}
	}
	return files
}

// load reads a configuration and rule files as Prometheus does.
func load(configuration string, rules map[string]string) answer {
	// Upstream's operator sets Legacy for all that it does; Prometheus 3 begins with UTF8.
	scheme := model.NameValidationScheme
	model.NameValidationScheme = model.UTF8Validation
	defer func() { model.NameValidationScheme = scheme }()
	if _, err := config.Load(configuration, nil); err != nil && configuration != "" {
		return answer{Error: err.Error()}
	}
	for name, text := range rules {
		if _, problems := rulefmt.Parse([]byte(text), false); len(problems) > 0 {
			return answer{Error: fmt.Sprintf("%s: %v", name, problems[0])}
		}
	}
	return answer{}
}
