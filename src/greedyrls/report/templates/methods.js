// The paragraph for a paper, copied as plain text.
byId("copy-methods").addEventListener("click", async () => {
  const done = byId("copied");
  try {
    await navigator.clipboard.writeText(data.methods);
    done.textContent = "Copied.";
  } catch {
    // Pages from files may lack the permission: select the text, and copy the selection.
    window.getSelection().selectAllChildren(byId("methods-text"));
    const isCopied = document.execCommand("copy");
    done.textContent = isCopied ? "Copied." : "Selected: press Ctrl+C to copy.";
  }
});
