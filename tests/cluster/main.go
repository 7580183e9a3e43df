package main

import (
	"os"

	"windlass.dev/cluster/component"
)

func main() {
	if len(os.Args) > 1 && component.Contains(os.Args[1]) {
		os.Exit(component.Run(os.Args[1:]))
	}
}
