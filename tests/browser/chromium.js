// Debian's Chromium, without a window.
import { chromium } from "playwright-core";

export const launch = () =>
  chromium.launch({
    executablePath: "/usr/bin/chromium",
    // Its sandbox refuses to run as root; it opens pages of these tests only.
    args: process.getuid() === 0 ? ["--no-sandbox"] : [],
  });
