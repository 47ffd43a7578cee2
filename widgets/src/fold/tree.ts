// The search tree: nodes, pruned regions and families, as widgets/views/search_tree.py builds it.

export interface TreeNode {
  readonly id: string;
  readonly parent: string;
  /** Position among the expanded nodes; -1 for a node that no event expanded. */
  readonly position: number;
  readonly children: string[];
  /** Positions among the pruned regions. */
  readonly pruned: number[];
  readonly families: string[];
}

export class Tree {
  readonly nodes = new Map<string, TreeNode>();
  readonly roots: string[] = [];
  finished = false;

  /** Add a node; a second expansion of one node is ignored. */
  addNode(id: string, parent: string, position: number): void {
    if (this.nodes.has(id)) return;
    this.nodes.set(id, { id, parent, position, children: [], pruned: [], families: [] });
    const above = this.nodes.get(parent);
    if (above) above.children.push(id);
    else this.roots.push(id);
  }

  addRegion(parent: string, position: number): void {
    this.at(parent).pruned.push(position);
  }

  addFamily(node: string, family: string): void {
    this.at(node).families.push(family);
  }

  /** The node with this id; if no event expanded it, it is added as a root. */
  private at(id: string): TreeNode {
    const known = this.nodes.get(id);
    if (known) return known;
    const node = { id, parent: "", position: -1, children: [], pruned: [], families: [] };
    this.nodes.set(id, node);
    this.roots.push(id);
    return node;
  }

  node(id: string): TreeNode {
    const node = this.nodes.get(id);
    if (!node) throw new Error(`the search tree has no node ${id}`);
    return node;
  }

  /** Per node, the number of leaves below it, at least one: pruned regions, and nodes without anything below. */
  leafCounts(): ReadonlyMap<string, number> {
    const total = new Map<string, number>();
    for (const node of [...this.nodes.values()].reverse()) {
      let below = node.pruned.length;
      for (const child of node.children) below += total.get(child) ?? 1;
      total.set(node.id, Math.max(1, below));
    }
    return total;
  }

  /** Ids of a node and of all nodes below it. */
  below(root: string): string[] {
    const found: string[] = [];
    const stack = [root];
    for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
      found.push(name);
      stack.push(...this.node(name).children);
    }
    return found;
  }

  /** Positions of the regions that were pruned at a node and below it; of all without a known node. */
  *prunedBelow(root: string): Generator<number> {
    for (const name of this.nodes.has(root) ? this.below(root) : this.nodes.keys())
      yield* this.node(name).pruned;
  }

  /** Ids of the nodes from the root to this one. */
  path(id: string): string[] {
    const found: string[] = [];
    for (let node = this.nodes.get(id); node && !found.includes(node.id); node = this.nodes.get(node.parent))
      found.push(node.id);
    return found.reverse();
  }
}
