import type { Command } from 'commander';
import { addConnectionsAdd } from './connections-add.ts';
import { addConnectionsConfig } from './connections-config.ts';
import { addConnectionsControl } from './connections-control.ts';
import { addConnectionsCredential } from './connections-credential.ts';
import { addConnectionsDelete } from './connections-delete.ts';
import { addConnectionsList } from './connections-list.ts';
import { addConnectionsSchedule } from './connections-schedule.ts';
import { addConnectionsShow } from './connections-show.ts';
import { addConnectionsWebhook } from './connections-webhook.ts';

export function addConnections(program: Command): void {
  const group = program.command('connections').description('add, show and control connections');
  for (const add of [
    addConnectionsAdd,
    addConnectionsList,
    addConnectionsShow,
    addConnectionsControl,
    addConnectionsDelete,
    addConnectionsSchedule,
    addConnectionsConfig,
    addConnectionsCredential,
    addConnectionsWebhook,
  ])
    add(group);
}
