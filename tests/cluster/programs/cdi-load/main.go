// cdi-load FILE...: reads CDI files as containerd does, and prints each as a line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	for _, file := range os.Args[1:] {
		spec, err := cdi.ReadSpec(file, 0)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cdi-load:", err)
			os.Exit(1)
		}
		line, err := json.Marshal(spec.Spec)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cdi-load:", err)
			os.Exit(1)
		}
		fmt.Println(string(line))
	}
}
