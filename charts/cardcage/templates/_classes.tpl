{{- /*
The DeviceClasses: {"classes": [{"name", "spec"}]}. Each driver has one with its name. GPUs of the NVIDIA module have one for each
type, named as those of NVIDIA's own driver: gpu.nvidia.com, mig.nvidia.com, vfio.gpu.nvidia.com; IMEX channels have
compute-domain-default-channel.nvidia.com.
*/}}
{{- define "cardcage.classes" -}}
{{- $wanted := list }}
{{- if .Values.deviceClasses.create }}
{{- range $driver := (include "cardcage.drivers" . | fromJson).drivers }}
{{- $expression := printf "device.driver == %q" $driver.name }}
{{- if eq $driver.module "nvidia" }}
{{- $type := printf "%s && device.attributes[%q].type ==" $expression $driver.name }}
{{- $wanted = append $wanted (dict "name" $driver.name "expression" (printf "%s \"gpu\"" $type)) }}
{{- $wanted = append $wanted (dict "name" (printf "mig.%s" (trimPrefix "gpu." $driver.name)) "expression" (printf "%s \"mig\"" $type)) }}
{{- if get (default dict $driver.values.options) "passthrough" }}
{{- $wanted = append $wanted (dict "name" (printf "vfio.%s" $driver.name) "expression" (printf "%s \"vfio\"" $type)) }}
{{- end }}
{{- else if eq $driver.module "imex" }}
{{- $attributes := printf "device.attributes[%q]" $driver.name }}
{{- $wanted = append $wanted (dict "name" (regexReplaceAll "^([^.]+)" $driver.name "${1}-default-channel")
      "expression" (printf "%s && %s.type == \"channel\" && %s.id == 0" $expression $attributes $attributes)) }}
{{- else }}
{{- $wanted = append $wanted (dict "name" $driver.name "expression" $expression) }}
{{- end }}
{{- end }}
{{- end }}
{{- $classes := list }}
{{- range $wanted }}
{{- $spec := dict "selectors" (list (dict "cel" (dict "expression" .expression))) }}
{{- with get $.Values.deviceClasses.extendedResources .name }}{{ $_ := set $spec "extendedResourceName" . }}{{ end }}
{{- $classes = append $classes (dict "name" .name "spec" $spec) }}
{{- end }}
{{- dict "classes" (concat $classes .Values.deviceClasses.additional) | toJson }}
{{- end }}
