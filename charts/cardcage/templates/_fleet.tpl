{{- define "cardcage.fleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cardcage.name" . }}-fleet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The Lease that the fleet renews while it labels claims for the daemons of their nodes. */}}
{{- define "cardcage.fleet.lease" -}}
{{- if and .Values.fleet.enabled .Values.bindingConditions.enabled }}{{ include "cardcage.fullname" . }}-fleet{{ end }}
{{- end }}

{{- define "cardcage.fleet.username" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "cardcage.fullname" . }}-fleet
{{- end }}
