{{- /* The certificate of a web server. These templates expect the root, the values `tls`, and the name of the server. */}}
{{- define "cardcage.tls.secret" -}}
{{ default (printf "%s-tls" (index . 2)) (index . 1).secretName }}
{{- end }}

{{- /* Without `secretName`: a Certificate of cert-manager, or a certificate that the chart makes at the first installation and keeps. */}}
{{- define "cardcage.tls.objects" }}
{{- $root := index . 0 }}
{{- $tls := index . 1 }}
{{- $name := index . 2 }}
{{- $secret := include "cardcage.tls.secret" . }}
{{- $names := list "localhost" $name (printf "%s.%s" $name $root.Release.Namespace) (printf "%s.%s.svc" $name $root.Release.Namespace) }}
{{- if $tls.certManager.enabled }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "cardcage.labels" $root | nindent 4 }}
spec:
  secretName: {{ $secret }}
  issuerRef:
    {{- toYaml $tls.certManager.issuerRef | nindent 4 }}
  dnsNames: {{ $names | toJson }}
  ipAddresses: ["127.0.0.1"]
{{- else if not $tls.secretName }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ $secret }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "cardcage.labels" $root | nindent 4 }}
type: kubernetes.io/tls
data:
  {{- $kept := lookup "v1" "Secret" $root.Release.Namespace $secret }}
  {{- if $kept }}
  tls.crt: {{ get $kept.data "tls.crt" }}
  tls.key: {{ get $kept.data "tls.key" }}
  {{- else }}
  {{- $made := genSelfSignedCert $name (list "127.0.0.1") $names 3650 }}
  tls.crt: {{ $made.Cert | b64enc }}
  tls.key: {{ $made.Key | b64enc }}
  {{- end }}
{{- end }}
{{- end }}
