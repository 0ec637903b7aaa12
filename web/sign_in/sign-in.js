// Sends the token in a header, so that no form of another site can sign a visitor in.
const message = document.getElementById("message");

async function signIn(token) {
  const response = await fetch("session", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Cardcage-Request": "1", "X-Cardcage-Token": token },
    body: "{}",
  });
  if (response.ok) return location.reload();
  const reason = await response.json().catch(() => ({}));
  message.textContent = reason.error || `The server responded with status ${response.status}.`;
}

document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  message.textContent = "";
  signIn(document.getElementById("token").value.trim()).catch((error) => {
    message.textContent = `Signing in failed: ${error.message}`;
  });
});
