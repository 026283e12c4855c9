/** One line an event of the chaos proxy, for people or as JSON. */
import type { ChaosEvent, TcpAddress } from '../../chaos/chaos-proxy.ts';
import { faultText } from '../../chaos/fault-text.ts';

export function addressText({ host, port }: TcpAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `seconds` since the proxy listens. */
export function chaosEventText(event: ChaosEvent, seconds: number): string {
  return `${seconds.toFixed(3).padStart(9)}  ${eventText(event)}\n`;
}

export function chaosEventJson(event: ChaosEvent, seconds: number): string {
  const { kind, ...fields } = event;
  const shown = 'fault' in fields ? { ...fields, fault: faultText(fields.fault) } : fields;
  return `${JSON.stringify({ seconds: Number(seconds.toFixed(3)), event: kind, ...shown })}\n`;
}

function eventText(event: ChaosEvent): string {
  switch (event.kind) {
    case 'opened':
      return `connection ${event.link} opened from ${event.from}`;
    case 'ended':
      return `connection ${event.link} ended (${event.reason}), ${event.upBytes} bytes up, ${event.downBytes} down`;
    case 'refused':
      return `connection from ${event.from} refused: ${event.connectionsMax} connections are open (--connections-max)`;
    case 'fault':
      return `${faultText(event.fault)} on ${event.links} connections`;
    case 'over':
      return `${faultText(event.fault)} is over`;
  }
}
