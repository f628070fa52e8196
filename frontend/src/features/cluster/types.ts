/** The API's types of the cluster page. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type ClusterNode = Schemas['ClusterNode'];
export type NodePage = Schemas['NodePage'];
export type MapAnswer = Schemas['NodeMap'];
export type MapRecord = Schemas['MapRecord'];
export type Hardware = Schemas['MapHardware'];
export type ClusterGpus = Schemas['ClusterGpus'];
export type Condition = Schemas['Condition'];
export type NodeGpus = Schemas['NodeGpus'];
export type Addresses = Schemas['NodeAddresses'];
export type ClusterQueue = Schemas['ClusterQueue'];
export type PartitionQueue = Schemas['PartitionQueue'];
export type MyJob = Schemas['MyJob'];
export type MyWaiting = Schemas['MyWaiting'];
export type Reservations = Schemas['Reservations'];
export type Reservation = Schemas['Reservation'];
export type ClusterHistory = Schemas['ClusterHistory'];
export type HistoryRange = ClusterHistory['range'];
