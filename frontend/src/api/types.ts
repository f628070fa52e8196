/** The API's shapes by the names the UI uses; the schema itself is generated from openapi.json. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Me = Schemas['Me'];
export type Role = Me['role'];
/** the answer to a login, or to half of one */
export type LoggedIn = Schemas['LoginOut'];
export type SecondFactor = Schemas['SecondFactorOut'];
export type Token = Schemas['TokenOut'];
export type NewToken = Schemas['NewToken'];
export type TokenRequest = Schemas['TokenIn'];
export type Scope = Schemas['Scope'];
export type LoginSummary = Schemas['LoginSummary'];
export type Environment = Schemas['EnvironmentOut'];
export type Resources = Schemas['ResourcesOut'];
/** what a preset or a request may leave out */
export type SomeResources = Schemas['ResourcesIn'];
export type Cluster = Schemas['ClusterOut'];
export type ClusterNode = Schemas['Node'];
export type Partition = Schemas['Partition'];
export type Preset = Schemas['Preset'];
export type GpuCount = Schemas['Gpus'];
export type Session = Schemas['SessionOut'];
export type SessionState = Session['state'];
export type Outcome = NonNullable<Session['outcome']>;
export type Tensorboard = Schemas['TensorboardOut'];
export type SeenTensorboard = Schemas['SeenTensorboard'];
export type Shares = Schemas['SharesOut'];
export type Step = Schemas['TimelineEntry']['step'];
export type Notebook = Schemas['NotebookOut'];
export type SessionRequest = Schemas['SessionIn'];
export type Setup = Schemas['SetupOut'];
export type GpuTypeFigures = Schemas['GpuTypeFigures'];
export type Preferences = Schemas['PreferencesOut'];
export type PreferencesChange = Schemas['PreferencesIn'];
export type MyMail = Schemas['MailOut'];
export type UsedSetup = Schemas['UsedSetup'];
export type LogPiece = Schemas['LogPiece'];
export type Job = Schemas['JobOut'];
export type JobDetail = Schemas['JobDetail'];
export type JobRequest = Schemas['JobIn'];
export type JobArray = NonNullable<Job['array']>;
export type Task = Schemas['TaskOut'];
export type Usage = Schemas['UsageOut'];
export type Template = Schemas['TemplateOut'];
export type TemplateDetail = Schemas['TemplateDetail'];
export type Estimate = Schemas['EstimateOut'];
/** what a job's last runs used, and what would do */
export type Sizing = Schemas['SizingOut'];
export type Catalog = Schemas['CatalogOut'];
export type CatalogFile = Schemas['CatalogFile'];
export type ImportedImage = Schemas['ImageOut'];
export type ImageImport = Schemas['ImportOut'];
export type AuditEvent = Schemas['EventOut'];
export type AdminAnnouncement = Schemas['ManagedAnnouncement'];
export type SystemStatus = Schemas['StatusOut'];
export type Limit = Schemas['LimitOut'];
export type LimitSet = Schemas['LimitSet'];
export type SlurmSays = Schemas['SlurmOut'];
export type UserLimits = Schemas['UserLimitsOut'];
export type MyLimits = Schemas['MyLimitsOut'];
export type SharedLimit = Schemas['TogetherOut'];
export type Association = Schemas['AssociationOut'];
export type UsageTotals = Schemas['UsageTotals'];
export type GroupLimits = Schemas['GroupLimitsOut'];
export type GroupMember = Schemas['MemberOut'];
export type Drift = Schemas['DriftItem'];
