// The map in three dimensions: points that can be turned, zoomed and opened. Loaded when someone asks for it.
export class Space {
    // `points` as map.js reads them; `open(place)` when one is clicked; `still`: nothing turns by itself.
    constructor(three, { OrbitControls }, canvas, points, { still, open }) {
        this.three = three;
        this.canvas = canvas;
        this.points = points;
        this.renderer = new three.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
        this.scene = new three.Scene();
        this.camera = new three.PerspectiveCamera(50, 1, 0.01, 100);
        this.controls = new OrbitControls(this.camera, canvas);
        this.controls.autoRotate = !still;
        this.controls.autoRotateSpeed = 0.6;
        this.controls.addEventListener("start", () => {
            this.controls.autoRotate = false;
        });
        this.build();
        this.click = (event) => this.clicked(event, open);
        this.pressed = (event) => {
            this.from = [event.clientX, event.clientY];
        };
        canvas.addEventListener("pointerdown", this.pressed);
        canvas.addEventListener("click", this.click);
        this.renderer.setAnimationLoop(() => this.frame());
    }

    build() {
        const { three, points } = this;
        const places = new Float32Array(3 * points.count);
        const axes = [points.x, points.y, points.z];
        const middle = axes.map((axis) => axis.reduce((sum, one) => sum + one, 0) / points.count);
        let farthest = 1e-6;
        for (let place = 0; place < points.count; place++) {
            for (let axis = 0; axis < 3; axis++) {
                places[3 * place + axis] = axes[axis][place] - middle[axis];
                farthest = Math.max(farthest, Math.abs(places[3 * place + axis]));
            }
        }
        for (let index = 0; index < places.length; index++) {
            places[index] /= farthest;
        }
        this.geometry = new three.BufferGeometry();
        this.geometry.setAttribute("position", new three.BufferAttribute(places, 3));
        this.geometry.setAttribute("color", new three.BufferAttribute(new Float32Array(4 * points.count), 4));
        const round = document.createElement("canvas");
        round.width = round.height = 64;
        const pen = round.getContext("2d");
        pen.fillStyle = "#fff";
        pen.beginPath();
        pen.arc(32, 32, 30, 0, 2 * Math.PI);
        pen.fill();
        this.material = new three.PointsMaterial({
            size: points.count > 3000 ? 0.022 : 0.035,
            map: new three.CanvasTexture(round),
            vertexColors: true,
            transparent: true,
            alphaTest: 0.05,
            depthWrite: false,
        });
        this.cloud = new three.Points(this.geometry, this.material);
        this.scene.add(this.cloud);
        this.camera.position.set(1.4, 1.0, 1.8);
    }

    update({ visible, colours, strong, muted, ground }) {
        const values = this.geometry.getAttribute("color");
        const known = new Map();
        for (let place = 0; place < this.points.count; place++) {
            if (!known.has(colours[place])) {
                known.set(colours[place], new this.three.Color(colours[place]));
            }
            const { r, g, b } = known.get(colours[place]);
            values.setXYZW(place, r, g, b, visible[place] ? (strong[place] || !muted ? 0.95 : 0.15) : 0);
        }
        values.needsUpdate = true;
        this.renderer.setClearColor(new this.three.Color(ground));
    }

    frame() {
        const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
        if (!width || !height) {
            return;
        }
        const density = Math.min(devicePixelRatio || 1, 2);
        if (this.canvas.width !== Math.round(width * density) || this.canvas.height !== Math.round(height * density)) {
            this.renderer.setPixelRatio(density);
            this.renderer.setSize(width, height, false);
            this.camera.aspect = width / height;
            this.camera.updateProjectionMatrix();
        }
        this.controls.update();
        this.renderer.render(this.scene, this.camera);
    }

    clicked(event, open) {
        if (Math.hypot(event.clientX - this.from[0], event.clientY - this.from[1]) > 4) {
            return;
        }
        const box = this.canvas.getBoundingClientRect();
        const ray = new this.three.Raycaster();
        ray.params.Points.threshold = 0.02;
        const spot = new this.three.Vector2(
            ((event.clientX - box.left) / box.width) * 2 - 1,
            1 - ((event.clientY - box.top) / box.height) * 2,
        );
        ray.setFromCamera(spot, this.camera);
        const colours = this.geometry.getAttribute("color");
        const hit = ray.intersectObject(this.cloud).find((one) => colours.getW(one.index) > 0);
        if (hit) {
            open(hit.index);
        }
    }

    snapshot() {
        this.frame();
    }

    stop() {
        this.renderer.setAnimationLoop(null);
        this.canvas.removeEventListener("click", this.click);
        this.canvas.removeEventListener("pointerdown", this.pressed);
        this.controls.dispose();
        this.geometry.dispose();
        this.material.dispose();
        this.renderer.dispose();
    }
}
