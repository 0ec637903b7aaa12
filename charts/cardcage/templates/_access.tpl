{{- /* Binds a ClusterRole to the daemon. Expects the root and the name of the role. */}}
{{- define "cardcage.binding" }}
{{- $root := index . 0 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ index . 1 }}
  labels:
    {{- include "cardcage.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 1 }}
subjects:
  - kind: ServiceAccount
    name: {{ include "cardcage.serviceAccountName" $root }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}

{{- /* Modules that report the condition of a claim's devices: the NIC module reports the addresses of interfaces. */}}
{{- define "cardcage.writesClaimStatus" -}}
{{- if .Values.claimStatus.enabled }}true{{ else }}
{{- range (include "cardcage.drivers" . | fromJson).drivers }}{{ if eq .module "nic" }}true{{ end }}{{ end }}
{{- end }}
{{- end }}

{{- define "cardcage.statusRules" -}}
# Server-side apply. Up to Kubernetes 1.35 RBAC cannot separate this from changing the allocation of a claim, which the policy
# {{ include "cardcage.fullname" . }}-claim-status refuses; from 1.36 on that needs resourceclaims/binding.
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/status]
  verbs: [patch]
# Only entries of these drivers, in claims that are allocated on the daemon's own node: the policy requires this right, and from
# Kubernetes 1.36 on the API server does, too.
{{- $names := list }}
{{- range (include "cardcage.drivers" . | fromJson).drivers }}{{ $names = append $names .name }}{{ end }}
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/driver]
  resourceNames: {{ $names | uniq | sortAlpha | toJson }}
  verbs: ["associated-node:patch"]
{{- end }}
