{{- define "cardcage.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- /* The name of every object. Profiles and roles append a word to it, so it is shorter than 63 bytes. */}}
{{- define "cardcage.fullname" -}}
{{- $name := include "cardcage.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "cardcage.serviceAccountName" -}}
{{ default (include "cardcage.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "cardcage.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cardcage.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cardcage.labels" -}}
{{ include "cardcage.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "cardcage.image" -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end }}
{{- end }}

{{- /* The subject of roles and policies. */}}
{{- define "cardcage.username" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "cardcage.serviceAccountName" . }}
{{- end }}
