// In pages of an application that is being edited (`sarsen serve --watch`): loads the page again
// when another version of it is served, and shows what is wrong with an edit that cannot be.
(() => {
  const served = document.currentScript.src.split("?")[1];
  let source;
  let panel;

  // Styles are set one by one: a page's policy may forbid style elements.
  function show(mistake) {
    panel?.remove();
    panel = undefined;
    if (mistake === null) return;
    panel = document.createElement("pre");
    panel.id = "sarsen-mistake";
    panel.setAttribute("role", "alert");
    panel.textContent = mistake;
    Object.assign(panel.style, {
      position: "fixed",
      inset: "0",
      zIndex: "2147483647",
      margin: "0",
      padding: "2rem",
      overflow: "auto",
      whiteSpace: "pre-wrap",
      font: "14px/1.5 ui-monospace, monospace",
      color: "#fff",
      background: "rgba(60, 0, 0, .94)",
    });
    document.documentElement.append(panel);
  }

  function listen() {
    source = new EventSource("/_sarsen/live");
    source.onmessage = ({ data }) => {
      const news = JSON.parse(data);
      if (news.served === served) return show(news.mistake);
      source.close();
      location.reload();
    };
    // A refusal ends an EventSource for good; a server that is away does not.
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
    };
  }

  // A browser has few connections to one server: pages that nobody sees give theirs back.
  document.addEventListener("visibilitychange", () => {
    source?.close();
    if (!document.hidden) listen();
  });
  if (!document.hidden) listen();
})();
