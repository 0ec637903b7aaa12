{{- define "cardcage.fleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cardcage.name" . }}-fleet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
