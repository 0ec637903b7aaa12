// nri-runtime SOCKET: serves plugins as containerd does, with its library and without pods of its own.
//
// Each line of stdin is an order that prints one line, "ok" or an error:
//
//	pod UID NAMESPACE NAME NETNS   adds a pod, of which plugins that connect later are told; "-" = the node's network
//	run UID, stop UID              pass the event on to the plugins that are connected
//	timeout MILLISECONDS           limits the requests to plugins
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
)

var (
	lock sync.Mutex
	pods = map[string]*api.PodSandbox{}
)

func newPod(uid, namespace, name, netns string) *api.PodSandbox {
	namespaces := []*api.LinuxNamespace{{Type: "pid"}, {Type: "ipc"}}
	if netns != "-" {
		namespaces = append(namespaces, &api.LinuxNamespace{Type: "network", Path: netns})
	}
	return &api.PodSandbox{
		Id: "sandbox-" + uid, Uid: uid, Namespace: namespace, Name: name,
		Labels: map[string]string{"app": name}, Annotations: map[string]string{"note": strings.Repeat("x", 10_000)},
		RuntimeHandler: "runc", Ips: []string{"10.0.0.7"}, Pid: 4711,
		Linux: &api.LinuxPodSandbox{CgroupParent: "/kubepods", Namespaces: namespaces},
	}
}

func addPod(pod *api.PodSandbox) error {
	lock.Lock()
	defer lock.Unlock()
	pods[pod.Uid] = pod
	return nil
}

func synchronize(ctx context.Context, tell adaptation.SyncCB) error {
	lock.Lock()
	defer lock.Unlock()
	_, err := tell(ctx, slices.Collect(maps.Values(pods)), nil)
	return err
}

func update(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) { return nil, nil }

func eventOf(uid string) *api.StateChangeEvent {
	lock.Lock()
	defer lock.Unlock()
	return &api.StateChangeEvent{Pod: pods[uid]}
}

func execute(runtime *adaptation.Adaptation, order []string) error {
	// containerd, too, blocks new plugins while it passes an event on.
	defer runtime.BlockPluginSync().Unblock()
	switch order[0] {
	case "pod":
		return addPod(newPod(order[1], order[2], order[3], order[4]))
	case "run":
		return runtime.RunPodSandbox(context.Background(), eventOf(order[1]))
	case "stop":
		return runtime.StopPodSandbox(context.Background(), eventOf(order[1]))
	case "timeout":
		limit, err := time.ParseDuration(order[1] + "ms")
		adaptation.SetPluginRequestTimeout(limit)
		return err
	}
	return errors.New("no such order")
}

func main() {
	none := os.Args[1] + ".d" // no plugins are started from here
	runtime, err := adaptation.New("nri-runtime", "v0.11", synchronize, update, adaptation.WithSocketPath(os.Args[1]),
		adaptation.WithPluginPath(none), adaptation.WithPluginConfigPath(none))
	if err == nil {
		err = runtime.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nri-runtime:", err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer := "ok"
		if err := execute(runtime, strings.Fields(lines.Text())); err != nil {
			answer = err.Error()
		}
		fmt.Println(answer)
	}
	runtime.Stop()
}
