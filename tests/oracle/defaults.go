package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"sigs.k8s.io/yaml"
)

// crdFolder is where upstream's module keeps its CRDs; the caller gives it, since only Go knows where modules lie.
const crdFolder = "ORACLE_CRDS"

// readDefaulted reads an object as it would come from the API server: with the defaults of upstream's CRD.
func readDefaulted(plural string, object []byte, into any) error {
	schema, err := specSchema(plural)
	if err != nil {
		return err
	}
	var raw map[string]any
	if err := json.Unmarshal(object, &raw); err != nil {
		return err
	}
	if spec, found := raw["spec"]; found {
		raw["spec"] = defaulted(spec, schema)
	}
	complete, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(complete, into)
}

// defaulted fills in defaults; those of a field hold where its object is there.
func defaulted(value any, schema map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property := property.(map[string]any)
			if fallback, found := property["default"]; found && value[name] == nil {
				value[name] = fallback
			}
		}
		additional, _ := schema["additionalProperties"].(map[string]any)
		for name, inner := range value {
			if property, found := properties[name].(map[string]any); found {
				value[name] = defaulted(inner, property)
			} else if additional != nil {
				value[name] = defaulted(inner, additional)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for at, inner := range value {
			value[at] = defaulted(inner, items)
		}
	}
	return value
}

var schemas sync.Map

// specSchema is the schema of a kind's spec.
func specSchema(plural string) (map[string]any, error) {
	if known, found := schemas.Load(plural); found {
		return known.(map[string]any), nil
	}
	file := filepath.Join(os.Getenv(crdFolder), "monitoring.coreos.com_"+plural+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read upstream's CRD: %w (is %s set?)", err, crdFolder)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]map[string]any `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("failed to read %s: %w", file, err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	schemas.Store(plural, schema)
	return schema, nil
}
