{{- /* The place where the daemon sees driverRoot. The root of the node itself is mounted at a folder, for modules that need it. Expects the values of a group. */}}
{{- define "cardcage.driverFolder" -}}
{{ ternary "/driver-root" .driverRoot (and (eq .driverRoot "/") (or .modules.nvidia.enabled .modules.imex.enabled)) }}
{{- end }}

{{- define "cardcage.programFolders" }}{{ range . }}{{ dir . }}
{{ end }}{{ end }}

{{- /* The folders of the node that only some modules need: {"folders": [{"name", "path", and more keys of the mount}]}. Expects a group. */}}
{{- define "cardcage.folders" -}}
{{- $folders := list }}
{{- $fromNode := dict "mountPropagation" "HostToContainer" }}
{{- $driver := include "cardcage.driverFolder" .values }}
{{- if ne $driver "/" }}
{{- /* A driver's container mounts file systems there while the daemon runs. */}}
{{- $folders = append $folders (dict "name" "driver-root" "path" .values.driverRoot "mount" (merge (dict "readOnly" true "mountPath" $driver) $fromNode)) }}
{{- end }}
{{- if and .values.modules.nvidia.enabled .values.modules.nvidia.mps }}
{{- /* Containers of a claim get shared memory that the module mounts here. */}}
{{- $root := default "/run/nvidia/mps" (get (default dict .values.modules.nvidia.options) "mps_root") }}
{{- $folders = append $folders (dict "name" "nvidia-mps" "path" $root "mount" (dict "mountPropagation" "Bidirectional")) }}
{{- end }}
{{- if include "cardcage.services" . }}
{{- /* A control group outside that of the pod, so that helper daemons outlive the pod. */}}
{{- $folders = append $folders (dict "name" "services-cgroup" "path" .values.services.cgroup) }}
{{- end }}
{{- if include "cardcage.networkDevices" . }}
{{- /* The folder of the socket, because the runtime makes a new one at each start; namespaces are mounted while the daemon runs. */}}
{{- $folders = append $folders (dict "name" "nri" "path" .values.nriSocketDir) }}
{{- $folders = append $folders (dict "name" "network-namespaces" "path" "/var/run/netns" "mount" (merge (dict "readOnly" true) $fromNode)) }}
{{- end }}
{{- if or .values.modules.nic.enabled .values.modules.generic.enabled }}
{{- /* The folder in which udev keeps names and properties of devices. */}}
{{- $folders = append $folders (dict "name" "udev" "path" "/run/udev" "mount" (dict "readOnly" true)) }}
{{- end }}
{{- if and .values.modules.nic.enabled .values.modules.nic.resources }}
{{- /* The folder in which Multus and CNI plugins expect files about the devices of resources. */}}
{{- $folders = append $folders (dict "name" "cni-device-info" "path" "/var/run/k8s.cni.cncf.io") }}
{{- end }}
{{- if and .values.modules.nic.enabled .values.modules.nic.programs }}
{{- /* IPAM plugins, and the folder in which they record the addresses that they gave. */}}
{{- range $index, $folder := uniq (splitList "\n" (include "cardcage.programFolders" .values.modules.nic.programs | trim)) }}
{{- $folders = append $folders (dict "name" (printf "ipam-plugins-%d" $index) "path" $folder "mount" (dict "readOnly" true)) }}
{{- end }}
{{- $folders = append $folders (dict "name" "ipam-leases" "path" "/var/lib/cni") }}
{{- range .values.modules.nic.programs }}{{ if eq (base .) "dhcp" }}
{{- $folders = append $folders (dict "name" "dhcp" "path" "/run/cni") }}
{{- end }}{{ end }}
{{- end }}
{{- if .values.nodeFeatureDiscovery.enabled }}
{{- $folders = append $folders (dict "name" "features" "path" .values.nodeFeatureDiscovery.dir) }}
{{- end }}
{{- with .values.hooksDir }}
{{- $folders = append $folders (dict "name" "hooks" "path" .) }}
{{- end }}
{{- dict "folders" $folders | toJson }}
{{- end }}

{{- /* True if modules in images are mounted, which Kubernetes does by default from 1.35 on. Expects the root and a group. */}}
{{- define "cardcage.imageVolumes" -}}
{{- $root := index . 0 }}
{{- $mode := (index . 1).values.imageVolumes }}
{{- if or (eq $mode "always") (and (eq $mode "auto") (semverCompare ">=1.35.0-0" $root.Capabilities.KubeVersion.Version)) }}true{{ end }}
{{- end }}

{{- define "cardcage.mounts" -}}
{{- $images := include "cardcage.imageVolumes" . }}
{{- $group := index . 1 }}
{{- range (include "cardcage.folders" $group | fromJson).folders }}
- {{ merge (default dict .mount) (dict "name" .name "mountPath" .path) | toJson }}
{{- end }}
{{- range $group.values.vendorModules }}
{{- if .image }}
{{- $mount := dict "name" (printf "vendor-%s" .name) "mountPath" (printf "/usr/lib/cardcage/modules/%s" .name) "readOnly" true }}
{{- $folder := dir .path | trimPrefix "/" }}
{{- if and $images $folder (ne $folder ".") }}{{ $_ := set $mount "subPath" $folder }}{{ end }}
- {{ $mount | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cardcage.volumes" -}}
{{- $images := include "cardcage.imageVolumes" . }}
{{- $group := index . 1 }}
{{- range (include "cardcage.folders" $group | fromJson).folders }}
- {{ dict "name" .name "hostPath" (dict "path" .path "type" "DirectoryOrCreate") | toJson }}
{{- end }}
{{- range $group.values.vendorModules }}
{{- if and .image $images }}
- {{ dict "name" (printf "vendor-%s" .name) "image" (dict "reference" .image "pullPolicy" (default "IfNotPresent" .imagePullPolicy)) | toJson }}
{{- else if .image }}
- {name: vendor-{{ .name }}, emptyDir: {}}
{{- end }}
{{- end }}
{{- end }}

{{- /* Where the cluster cannot mount an image, a container of that image copies the module. It needs a program `cp`. */}}
{{- define "cardcage.copies" -}}
{{- $images := include "cardcage.imageVolumes" . }}
{{- $containers := list }}
{{- range (index . 1).values.vendorModules }}
{{- if and .image (not $images) }}
{{- $containers = append $containers (dict "name" (printf "copy-%s" .name) "image" .image "imagePullPolicy" (default "IfNotPresent" .imagePullPolicy)
      "command" (list "cp" (printf "/%s" (trimPrefix "/" .path)) "/modules/")
      "volumeMounts" (list (dict "name" (printf "vendor-%s" .name) "mountPath" "/modules"))) }}
{{- end }}
{{- end }}
{{- with $containers -}}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
